package main_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/standins/sandbox"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// payday is a billing request that a kill may interrupt.
type payday struct {
	path string
	body func(c *patient) order
	// prepare brings an account into a state that permits the request.
	prepare func(c *patient)
	// done reports whether the provider has the result exactly once.
	done func(has payments.Billing) bool
}

// patient is an account with an interrupted request.
type patient struct {
	customer
	till   *till
	method string // a card that is registered
	secret string // of the first invoice
}

func (p *patient) subscribed(on string) {
	p.secret = p.subscribe(p.till.t, on).ClientSecret
	p.till.pays(p.secret, "pm_card_visa")
	p.awaitStatus(p.till.t, "active")
}

func (p *patient) does(path string, o order) {
	var answer map[string]any
	p.succeeds(p.till.t, path, o, &answer)
}

// charged reports whether there is one subscription with the given number of invoices.
func charged(has payments.Billing, invoices int) bool {
	return len(has.Subscriptions) == 1 && len(has.Invoices) == invoices
}

func at(on string) func(*patient) order {
	return func(*patient) order { return order{"price_id": sandbox.PriceOf(on)} }
}

func paydays() map[string]payday {
	nothing := func(*patient) order { return order{} }
	return map[string]payday{
		"subscribe": {
			path: "subscribe", body: at("indie"), prepare: func(*patient) {},
			done: func(has payments.Billing) bool { return charged(has, 1) && has.Subscriptions[0].Status == "incomplete" },
		},
		"subscribe at another price": {
			path: "subscribe", body: at("pro"), prepare: func(p *patient) { p.subscribe(p.till.t, "indie") },
			done: func(has payments.Billing) bool {
				return len(has.Subscriptions) == 2 && has.Subscriptions[0].Price == sandbox.PriceOf("pro") &&
					!has.Subscriptions[1].EndedAt.IsZero()
			},
		},
		"upgrade": {
			path: "change-plan", body: at("pro"), prepare: func(p *patient) { p.subscribed("indie") },
			done: func(has payments.Billing) bool {
				return charged(has, 2) && has.Subscriptions[0].Price == sandbox.PriceOf("pro")
			},
		},
		"downgrade": {
			path: "change-plan", body: at("indie"), prepare: func(p *patient) { p.subscribed("pro") },
			done: func(has payments.Billing) bool {
				later := has.Subscriptions[0].Scheduled
				return charged(has, 1) && later != nil && later.Price == sandbox.PriceOf("indie")
			},
		},
		"keep the plan": {
			path: "cancel-scheduled-change", body: nothing,
			prepare: func(p *patient) { p.subscribed("pro"); p.does("change-plan", at("indie")(p)) },
			done:    func(has payments.Billing) bool { return charged(has, 1) && has.Subscriptions[0].Scheduled == nil },
		},
		"cancel": {
			path: "cancel", body: nothing, prepare: func(p *patient) { p.subscribed("indie") },
			done: func(has payments.Billing) bool { return charged(has, 1) && has.Subscriptions[0].CancelAtPeriodEnd },
		},
		"uncancel": {
			path: "uncancel", body: nothing, prepare: func(p *patient) { p.subscribed("indie"); p.does("cancel", order{}) },
			done: func(has payments.Billing) bool { return charged(has, 1) && !has.Subscriptions[0].CancelAtPeriodEnd },
		},
		"register a card": {
			path: "setup-intent", body: nothing, prepare: func(*patient) {},
			done: func(has payments.Billing) bool { return len(has.Subscriptions) == 0 },
		},
		"replace the card": {
			path: "payment-method/replace", body: func(p *patient) order { return order{"payment_method_id": p.method} },
			prepare: func(p *patient) {
				p.subscribed("indie")
				var setup struct {
					ClientSecret string `json:"client_secret"`
				}
				p.succeeds(p.till.t, "setup-intent", order{}, &setup)
				p.method = p.till.registers(setup.ClientSecret, "pm_card_mastercard")
			},
			done: func(has payments.Billing) bool { return charged(has, 1) && has.Card != nil && has.Card.Last4 == "4444" },
		},
	}
}

// half is a request that was interrupted at a change of the provider.
type half struct {
	*patient
	payday
	name string
}

func (c half) key() []string { return []string{"Idempotency-Key", "payday-1"} }

// A recitald that is killed before or after any change at the provider makes no change twice. The request is completed
// by the client's repetition, or else by the to-do worker.
func TestInterruptedBillingRequestsAreDoneOnce(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	b, data := openTill(t), dataFolder(t)
	s := b.serve(data)

	// given requests of many accounts, each held up at one of its changes
	var halves []half
	for name, e := range paydays() {
		for nth := 1; ; nth++ {
			if !b.cutShort(s, e, name, nth, false, &halves) {
				break
			}
			b.cutShort(s, e, name, nth, true, &halves)
		}
	}
	require.NotEmpty(t, halves)
	t.Logf("%d requests are held up", len(halves))

	// when recitald is killed
	s.kill()
	b.hold(0, false)
	s = b.serve(data)

	// then every other request succeeds when it is repeated
	for i, c := range halves {
		if i%2 == 0 {
			answer := c.at(s).post(t, "/payments/"+c.path, c.body(c.patient), c.key()...)
			if answer.status == http.StatusConflict { // it may still be under way on another instance
				require.Equal(t, "true", answer.header.Get("x-should-retry"), answer.text())
				require.NotEmpty(t, answer.header.Get("Retry-After"))
				continue
			}
			require.Equal(t, 200, answer.status, "%s: %s", c.name, answer.text())
		}
	}

	// and all requests are completed once
	for _, c := range halves {
		require.Eventually(t, func() bool { return len(b.customers(c.id)) == 1 }, patience, pause, c.name)
		require.Eventually(t, func() bool { return c.done(b.billing(c.id)) }, patience, pause, "%s: %+v", c.name,
			b.billing(c.id))
		var answer reply
		require.Eventually(t, func() bool {
			answer = c.at(s).post(t, "/payments/"+c.path, c.body(c.patient), c.key()...)
			return answer.status != http.StatusConflict || answer.header.Get("x-should-retry") != "true"
		}, patience, time.Second, c.name) // the interval of Retry-After, to stay within the rate limit
		require.Equal(t, 200, answer.status, "%s: %s", c.name, answer.text())
		require.True(t, c.done(b.billing(c.id)), "%s: the repetition made a second change", c.name)
	}
}

// cutShort starts a request of a new account and holds its nth change at the provider. It reports whether there is one.
func (b *till) cutShort(s *server, e payday, name string, nth int, after bool, halves *[]half) bool {
	b.t.Helper()
	p := &patient{customer: s.openAccount("free"), till: b}
	e.prepare(p)
	at := b.hold(nth, after)
	ended := make(chan struct{})
	c := half{patient: p, payday: e, name: fmt.Sprintf("%s, change %d, after: %t", name, nth, after)}
	go func() {
		defer close(ended)
		response, err := http.DefaultClient.Do(p.request(http.MethodPost, "/payments/"+e.path, e.body(p).encode(),
			c.key()...))
		if err == nil {
			_ = response.Body.Close()
		}
	}()
	select {
	case <-at.reached:
		*halves = append(*halves, c)
		return true
	case <-ended:
		b.hold(0, false)
		require.True(b.t, e.done(b.billing(p.id)), name)
		return false
	}
}
