package main_test

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// billingChecker checks billing: a request that is repeated under its key until it is answered is carried out once, and
// all instances show the provider's state.
type billingChecker struct {
	stormClient
	provider *paymentProvider
	accounts []*billedAccount
	requests int
}

// billedAccount is an account on its way through storySteps.
type billedAccount struct {
	customer
	done    int    // steps that are answered
	key     string // of the next one
	secret  string // of the first invoice
	settled bool   // the first invoice was paid
}

// storyStep is a request, and the state once it is answered.
type storyStep struct {
	path, price        string
	on                 string // the new price
	invoices           int
	cancels, scheduled bool
}

var storySteps = []storyStep{
	{path: "subscribe", price: "indie", on: "indie", invoices: 1},
	{path: "change-plan", price: "pro", on: "pro", invoices: 2},
	{path: "cancel", on: "pro", invoices: 2, cancels: true},
	{path: "uncancel", on: "pro", invoices: 2},
	{path: "change-plan", price: "indie", on: "pro", invoices: 2, scheduled: true},
	{path: "cancel-scheduled-change", on: "pro", invoices: 2},
	{path: "change-plan", price: "premium", on: "premium", invoices: 3},
}

func newBillingChecker(provider *paymentProvider, v stormClient) *billingChecker {
	return &billingChecker{stormClient: v, provider: provider}
}

func (p *billingChecker) work(at *server, r *rand.Rand) error {
	p.provider.SetWebhookURL(at.address + "/payments/webhook")
	if len(p.accounts) == 0 || r.IntN(4) == 0 && p.accounts[len(p.accounts)-1].done == len(storySteps) {
		p.open(at)
		return nil
	}
	_, err := p.goOn(at, p.accounts[len(p.accounts)-1])
	return err
}

// open opens an account. It ignores an account without a reply.
func (p *billingChecker) open(at *server) {
	if c, opened := p.openAccount(at, "free"); opened {
		p.accounts = append(p.accounts, &billedAccount{customer: c, key: uuid.NewString()})
	}
}

// goOn makes the next request of an account, or repeats an unanswered one. It reports whether there is an answer.
func (p *billingChecker) goOn(at *server, a *billedAccount) (bool, error) {
	if err := p.pay(a); err != nil {
		return false, err
	}
	if a.done == len(storySteps) {
		return true, nil
	}
	step, body := storySteps[a.done], order{}
	if step.price != "" {
		body["price_id"] = sandbox.PriceOf(step.price)
	}
	p.requests++
	answer, err := p.ask(a.at(at).request(http.MethodPost, "/payments/"+step.path, body.encode(), "Idempotency-Key",
		a.key))
	switch {
	case err != nil, answer.status >= 500, answer.status == http.StatusTooManyRequests,
		answer.header.Get("x-should-retry") == "true":
		return false, nil
	case answer.status == http.StatusNotFound && step.path == "subscribe": // the prices are not known yet
		return false, nil
	case answer.status != http.StatusOK:
		return false, fmt.Errorf("%s of %s returns %d %s", step.path, a.id, answer.status, answer.text())
	}
	var made subscribed
	if step.path == "subscribe" && json.Unmarshal(answer.body, &made) == nil {
		a.secret = made.ClientSecret
	}
	a.done, a.key = a.done+1, uuid.NewString()
	return true, nil
}

// pay pays the first invoice of an account.
func (p *billingChecker) pay(a *billedAccount) error {
	if a.secret == "" || a.settled {
		return nil
	}
	if err := p.provider.Confirm(a.secret, "pm_card_visa"); err != nil {
		return fmt.Errorf("the first invoice of %s cannot be paid: %w", a.id, err)
	}
	a.settled = true
	return nil
}

func (p *billingChecker) settle(at []*server, _ books) error {
	for _, a := range p.accounts {
		for end := time.Now().Add(calm); ; time.Sleep(2 * pause) {
			answered, err := p.goOn(at[0], a)
			if err != nil {
				return err
			}
			if answered && a.settled {
				break
			}
			if time.Now().After(end) {
				return fmt.Errorf("the request of %s is never answered", a.id)
			}
		}
	}
	return nil
}

func (p *billingChecker) check(at *server, _ books) error {
	for _, a := range p.accounts {
		if err := p.checkOne(at, a); err != nil {
			return fmt.Errorf("the account %s after %d steps: %w", a.id, a.done, err)
		}
	}
	return nil
}

func (p *billingChecker) checkOne(at *server, a *billedAccount) error {
	is := storySteps[a.done-1]
	customers := p.provider.customers(a.id)
	if len(customers) != 1 {
		return fmt.Errorf("it has %d customers", len(customers))
	}
	has, err := p.provider.gateway.Billing(p.provider.t.Context(), customers[0])
	if err != nil {
		return err
	}
	var seen overview
	var account accountView
	if err := errors.Join(p.read(a.at(at), "/payments/billing", &seen),
		p.read(a.at(at), "/v1/account", &account)); err != nil {
		return err
	}
	if len(has.Subscriptions) != 1 || len(has.Invoices) != is.invoices ||
		has.Subscriptions[0].Price != sandbox.PriceOf(is.on) {
		return fmt.Errorf("want %+v, the provider has %+v", is, has)
	}
	change := seen.Subscription.ScheduledChange != nil
	if seen.status() != "active" || len(seen.Invoices) != is.invoices ||
		seen.Subscription.CancelAtPeriodEnd != is.cancels || change != is.scheduled {
		return fmt.Errorf("want %+v, the overview shows %+v", is, seen)
	}
	if string(account.Plan.Type) != is.on || account.Usage.PeriodEnd != has.Subscriptions[0].PeriodEnd.Unix() {
		return fmt.Errorf("want %+v, the account shows %+v", is, account)
	}
	return nil
}

func (p *billingChecker) customers() (all []customer) {
	for _, a := range p.accounts {
		all = append(all, a.customer)
	}
	return all
}

func (p *billingChecker) String() string {
	answered := 0
	for _, a := range p.accounts {
		answered += a.done
	}
	return fmt.Sprintf("billing: %d accounts, %d requests, %d of them answered", len(p.accounts), p.requests, answered)
}

// secure serves the provider over TLS, which instances in mode prod require. They trust its certificate by an
// environment variable.
func (b *paymentProvider) secure(t *testing.T) {
	t.Helper()
	front := httptest.NewUnstartedServer(b.front.Config.Handler)
	front.StartTLS()
	t.Cleanup(front.Close)
	file := filepath.Join(t.TempDir(), "provider.pem")
	require.NoError(t, os.WriteFile(file,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o600))
	t.Setenv("SSL_CERT_FILE", file)
	b.address = front.URL
}
