package sandbox_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84"
	"github.com/stripe/stripe-go/v84/webhook"

	"github.com/recital-tts/recital/internal/standins/sandbox"
)

const (
	key    = "sk_test_sandbox"
	secret = "whsec_sandbox"
)

// shop is a sandbox with a client of its API and a receiver of its webhooks.
type shop struct {
	*sandbox.Sandbox
	t   *testing.T
	api *stripe.Client

	mu       sync.Mutex
	notices  []stripe.Event
	receiver *httptest.Server
}

func configIn(folder string) sandbox.Config {
	return sandbox.Config{
		File: filepath.Join(folder, "state"), Key: key, WebhookSecret: secret, Logger: slog.New(slog.DiscardHandler),
	}
}

func open(t *testing.T) *shop { return openIn(t, t.TempDir()) }

func openIn(t *testing.T, folder string) *shop {
	s := &shop{t: t}
	s.receiver = httptest.NewServer(http.HandlerFunc(s.receive))
	t.Cleanup(s.receiver.Close)
	config := configIn(folder)
	config.WebhookURL = s.receiver.URL
	var err error
	s.Sandbox, err = sandbox.Open(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	s.api = client(t, s.URL())
	return s
}

func client(t *testing.T, url string) *stripe.Client {
	transport := &http.Transport{DisableKeepAlives: true} // on a reused connection, requests with a key would be retried
	return stripe.NewClient(key, stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL: &url, MaxNetworkRetries: stripe.Int64(0), LeveledLogger: &stripe.LeveledLogger{},
		HTTPClient: &http.Client{Transport: transport, Timeout: time.Minute},
	})))
}

func (s *shop) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	e, verified := webhook.ConstructEvent(body, r.Header.Get("Stripe-Signature"), secret)
	if verified != nil {
		s.t.Errorf("the webhook is not verified: %v (%v)", verified, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, e)
}

// heard returns the types of the received webhooks.
func (s *shop) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var types []string
	for _, e := range s.notices {
		types = append(types, string(e.Type))
	}
	return types
}

func (s *shop) customer() *stripe.Customer {
	c, err := s.api.V1Customers.Create(s.t.Context(), &stripe.CustomerCreateParams{
		Metadata: map[string]string{"account": "acc"},
	})
	require.NoError(s.t, err)
	return c
}

// subscribe creates a subscription as Recital does.
func (s *shop) subscribe(customer, price string) *stripe.Subscription {
	params := &stripe.SubscriptionCreateParams{
		Customer:        &customer,
		Items:           []*stripe.SubscriptionCreateItemParams{{Price: &price}},
		PaymentBehavior: stripe.String("default_incomplete"),
		PaymentSettings: &stripe.SubscriptionCreatePaymentSettingsParams{
			SaveDefaultPaymentMethod: stripe.String("on_subscription"),
		},
	}
	params.AddExpand("latest_invoice.confirmation_secret")
	sub, err := s.api.V1Subscriptions.Create(s.t.Context(), params)
	require.NoError(s.t, err)
	return sub
}

// active returns a subscription that was paid with a card.
func (s *shop) active(price, card string) *stripe.Subscription {
	sub := s.subscribe(s.customer().ID, price)
	require.NoError(s.t, s.Confirm(sub.LatestInvoice.ConfirmationSecret.ClientSecret, card))
	return s.reload(sub.ID)
}

func (s *shop) reload(id string) *stripe.Subscription {
	params := &stripe.SubscriptionRetrieveParams{}
	params.AddExpand("latest_invoice")
	sub, err := s.api.V1Subscriptions.Retrieve(s.t.Context(), id, params)
	require.NoError(s.t, err)
	return sub
}

func (s *shop) invoices(customer string) []*stripe.Invoice {
	var all []*stripe.Invoice
	for i, err := range s.api.V1Invoices.List(s.t.Context(), &stripe.InvoiceListParams{Customer: &customer}) {
		require.NoError(s.t, err)
		all = append(all, i)
	}
	return all
}

func TestEachChangeHasAnEventAndAWebhook(t *testing.T) {
	s := open(t)
	c := s.customer()
	sub := s.subscribe(c.ID, sandbox.PriceOf("indie"))
	require.NoError(t, s.Confirm(sub.LatestInvoice.ConfirmationSecret.ClientSecret, "pm_card_visa"))
	wanted := []string{
		"customer.created", "customer.subscription.created", "invoice.created", "payment_intent.created", "invoice.finalized",
		"charge.succeeded", "payment_method.attached", "payment_intent.succeeded", "invoice_payment.paid", "invoice.paid",
		"invoice.payment_succeeded", "customer.subscription.updated",
	}
	require.Equal(t, wanted, s.events())
	require.Eventually(t, func() bool { return len(s.heard()) == len(wanted) }, time.Minute, 10*time.Millisecond)
	require.Equal(t, wanted, s.heard())
}

// events returns the types of all events, oldest first.
func (s *shop) events() []string {
	var types []string
	for e, err := range s.api.V1Events.List(s.t.Context(), &stripe.EventListParams{}) {
		require.NoError(s.t, err)
		types = append([]string{string(e.Type)}, types...)
	}
	return types
}

func TestTheStateSurvivesARestart(t *testing.T) {
	folder := t.TempDir()
	s, err := sandbox.Open(configIn(folder))
	require.NoError(t, err)
	c, err := client(t, s.URL()).V1Customers.Create(t.Context(),
		&stripe.CustomerCreateParams{Metadata: map[string]string{"name": "Ada"}})
	require.NoError(t, err)
	require.NoError(t, s.Advance(48*time.Hour))
	now := s.Now()
	require.NoError(t, s.Close())

	again := openIn(t, folder)
	found, err := again.api.V1Customers.Retrieve(t.Context(), c.ID, nil)
	require.NoError(t, err)
	require.Equal(t, "Ada", found.Metadata["name"])
	require.WithinRange(t, again.Now(), now, now.Add(time.Hour))
	require.Equal(t, []string{"customer.created"}, again.events(), "existing objects are not created again")
}
