package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// closingChecker checks accounts that are closed during the creation of keys: none of their keys is valid afterwards.
type closingChecker struct {
	stormClient
	closed   []goneAccount
	keys     int
	doubtful int // accounts whose closing was not confirmed
}

// goneAccount is a closed account with its keys.
type goneAccount struct {
	id    string
	keys  []string
	since time.Time
}

func newClosingChecker(v stormClient) *closingChecker { return &closingChecker{stormClient: v} }

func (p *closingChecker) work(at *server, r *rand.Rand) error {
	if r.IntN(3) == 0 {
		p.leave(at, r)
	}
	if len(p.closed) == 0 {
		return nil
	}
	gone := p.closed[r.IntN(len(p.closed))]
	if time.Since(gone.since) < revocationTakes {
		return nil
	}
	return p.requireGone(at, gone.id, gone.keys[r.IntN(len(gone.keys))], false)
}

// leave opens an account and closes it during the creation of more keys than fit between two snapshots.
func (p *closingChecker) leave(at *server, r *rand.Rand) {
	c, opened := p.openAccount(at, "indie")
	if !opened {
		return
	}
	const creators = 4
	made := make([][]string, creators)
	var running sync.WaitGroup
	for i := range creators {
		running.Go(func() {
			for range 25 {
				key, created := p.createKey(c)
				if !created {
					return
				}
				made[i] = append(made[i], key)
			}
		})
	}
	pause := time.Duration(r.IntN(300)) * time.Millisecond
	time.Sleep(pause)
	answer, err := p.ask(c.request(http.MethodDelete, "/v1/account", nil))
	running.Wait()
	if err != nil || answer.status != http.StatusOK {
		p.doubtful++
		return
	}
	keys := append(slices.Concat(made...), c.key)
	p.keys += len(keys)
	p.closed = append(p.closed, goneAccount{c.id, keys, time.Now()})
}

func (p *closingChecker) createKey(c customer) (key string, created bool) {
	answer, err := p.ask(c.request(http.MethodGet, "/v1/account/new_api_key", nil))
	if err != nil || answer.status != http.StatusOK {
		return "", false
	}
	var made struct{ APIKey string }
	return made.APIKey, json.Unmarshal(answer.body, &made) == nil
}

// requireGone returns an error if a key of a closed account is accepted or, when calm, not refused.
func (p *closingChecker) requireGone(at *server, id, key string, calm bool) error {
	c := customer{server: at, id: id, key: key}
	status := p.asks(c)
	if status == http.StatusOK || calm && status != http.StatusUnauthorized {
		return fmt.Errorf("a key of the closed account %s gets %d", id, status)
	}
	return nil
}

func (p *closingChecker) check(at *server, b books) error {
	for _, gone := range p.closed {
		state := b.accounts[gone.id]
		if !state.Closed() || len(state.Keys) > 0 {
			return fmt.Errorf("the closed account %s is %q and has %d keys", gone.id, state.Closing, len(state.Keys))
		}
		for _, key := range gone.keys {
			if err := p.requireGone(at, gone.id, key, true); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *closingChecker) String() string {
	return fmt.Sprintf("closing: %d accounts closed with %d keys, %d doubtful", len(p.closed), p.keys, p.doubtful)
}

// billedClosingChecker checks accounts that are closed with a subscription: it ends, the customer is deleted at the
// provider, and no charge is made twice.
type billedClosingChecker struct {
	*billingChecker
	closing []closingAccount // with a requested closing
}

// closingAccount is an account with its customer at the provider.
type closingAccount struct {
	customer
	at       string
	answered bool // its closing was confirmed
}

func newBilledClosingChecker(provider *paymentProvider, v stormClient) *billedClosingChecker {
	return &billedClosingChecker{billingChecker: newBillingChecker(provider, v)}
}

func (p *billedClosingChecker) work(at *server, _ *rand.Rand) error {
	p.provider.SetWebhookURL(at.address + "/payments/webhook")
	if n := len(p.closing); n > 0 && !p.closing[n-1].answered {
		p.close(at, &p.closing[n-1])
		return nil
	}
	if len(p.accounts) == len(p.closing) {
		p.open(at)
		return nil
	}
	a := p.accounts[len(p.accounts)-1]
	if a.done == 0 {
		_, err := p.goOn(at, a)
		return err
	}
	if err := p.pay(a); err != nil {
		return err
	}
	customers := p.provider.customers(a.id)
	if len(customers) != 1 {
		return fmt.Errorf("%s has %d customers", a.id, len(customers))
	}
	p.closing = append(p.closing, closingAccount{customer: a.customer, at: customers[0]})
	return nil
}

// close requests the closing of an account until there is an answer. After an unanswered request the key may be
// refused.
func (p *billedClosingChecker) close(at *server, c *closingAccount) {
	answer, err := p.ask(c.customer.at(at).request(http.MethodDelete, "/v1/account", nil))
	c.answered = err == nil && (answer.status == http.StatusOK || answer.status == http.StatusUnauthorized)
}

func (p *billedClosingChecker) settle(at []*server, _ books) error {
	if n := len(p.closing); n > 0 {
		for end := time.Now().Add(calm); !p.closing[n-1].answered; time.Sleep(2 * pause) {
			p.close(at[0], &p.closing[n-1])
			if time.Now().After(end) {
				return fmt.Errorf("%s is never closed", p.closing[n-1].id)
			}
		}
	}
	return nil
}

func (p *billedClosingChecker) check(_ *server, b books) error {
	for _, c := range p.closing {
		if state := b.accounts[c.id].Closing; state != account.ErasedOnce && state != account.ErasedForAll {
			return fmt.Errorf("the closed account %s is %q", c.id, state)
		}
		has, err := p.provider.gateway.Billing(p.provider.t.Context(), c.at)
		if err != nil {
			return err
		}
		live := slices.ContainsFunc(has.Subscriptions, func(s payments.Subscription) bool { return s.EndedAt.IsZero() })
		if taken := p.provider.charged(c.at); !has.Deleted || live || !slices.Equal(taken, []int64{1000}) {
			return fmt.Errorf("the closed account %s has %+v at the provider, and paid %v", c.id, has, taken)
		}
	}
	return nil
}

func (p *billedClosingChecker) customers() []customer { return nil }

func (p *billedClosingChecker) String() string {
	return fmt.Sprintf("closing with a subscription: %d accounts closed with a subscription", len(p.closing))
}
