package stripe_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
	"github.com/recital-tts/recital/internal/standins"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// fault is a way in which a changing request may fail.
type fault struct {
	name     string
	forwards bool // the provider carries it out
	answers  bool // with a failure, repeated for the same key; otherwise the connection is cut
	leaves   bool // the caller gives up, so that the library does not repeat it
}

func faults() []fault {
	return []fault{
		{name: "a failure before", answers: true},
		{name: "a failure after", forwards: true, answers: true},
		{name: "a cut before"},
		{name: "a cut after", forwards: true},
		{name: "an end before", leaves: true},
		{name: "an end after", forwards: true, leaves: true},
	}
}

// turns returns the requests of a change that fail, if the change is repeated later: the first one, and the distance to
// the next. In each run each request has each kind of failure; whether that is before or after its execution, and
// whether it is repeated at once or later, alternates from a random beginning.
func (f fault) turns(later time.Duration, turn int) (first, step int) {
	if f.forwards {
		turn++
	}
	if later > 0 {
		turn++
	}
	return turn % 2, 2
}

// line is a connection to a provider on which the nth changing request fails.
type line struct {
	to string

	mu      sync.Mutex
	fault   fault
	nth     int
	changes int
	leave   func()          // ends the caller's context
	wrong   bool            // a request has failed
	failed  map[string]bool // keys for which the failure is repeated
}

// lineTo starts a line and returns its address.
func lineTo(t *testing.T, to string) (*line, string) {
	l := &line{to: to, nth: -1, failed: map[string]bool{}}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	return l, server.URL
}

// breakAt makes the nth changing request from now on fail, once.
func (l *line) breakAt(nth int, f fault, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault, l.nth, l.changes, l.wrong, l.leave = f, nth, 0, false, leave
}

// mended ends the fault and reports whether it has occurred.
func (l *line) mended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nth = -1
	return l.wrong
}

// goesWrong reports whether a request is to fail.
func (l *line) goesWrong(r *http.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Method == http.MethodGet {
		return false
	}
	l.changes++
	wrong := l.changes-1 == l.nth && !l.wrong
	l.wrong = l.wrong || wrong
	return wrong
}

// hasFailed reports whether a request with this key has failed.
func (l *line) hasFailed(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed[key]
}

func (l *line) fail(w http.ResponseWriter, key string, again bool) {
	l.mu.Lock()
	l.failed[key] = true
	l.mu.Unlock()
	if again {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, `{"error":{"type":"api_error","message":"hidden: an error occurred"}}`)
}

// ServeHTTP implements http.Handler.
func (l *line) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	if l.hasFailed(key) {
		l.fail(w, key, true)
		return
	}
	wrong := l.goesWrong(r)
	if wrong && !l.fault.forwards {
		l.end(w, key)
		return
	}
	response, err := l.forward(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer response.Body.Close()
	if wrong {
		l.end(w, key)
		return
	}
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body)
}

func (l *line) end(w http.ResponseWriter, key string) {
	if l.fault.leaves {
		l.leave()
	}
	if !l.fault.answers {
		panic(http.ErrAbortHandler)
	}
	l.fail(w, key, false)
}

func (l *line) forward(r *http.Request) (*http.Response, error) {
	request, err := http.NewRequestWithContext(r.Context(), r.Method, l.to+r.URL.RequestURI(), r.Body)
	if err != nil {
		return nil, err
	}
	request.Header, request.ContentLength = r.Header.Clone(), r.ContentLength
	return http.DefaultTransport.RoundTrip(request)
}

// subject is a customer who has subscribed at the price indie.
type subject struct {
	s                      *sandbox.Sandbox
	g                      *stripe.Gateway
	customer, subscription string
}

// item returns an item of the same usage at each call.
func (x subject) item() payments.InvoiceItem {
	item := newItem(x.customer, x.subscription, 77)
	item.Usage = "usage-" + x.customer
	return item
}

// change is a change to a subject, with a check of its result.
type change struct {
	do    func(ctx context.Context, x subject, a payments.Attempt) error
	check func(t *testing.T, before, after payments.Billing)
}

func changes(t *testing.T) map[string]change {
	owed, waiting := map[string]string{}, map[string]string{} // by customer
	return map[string]change{
		"subscribe": {func(ctx context.Context, x subject, a payments.Attempt) error {
			_, err := x.g.Subscribe(ctx, a, payments.NewSubscription{Customer: x.customer, Price: sandbox.PriceOf("pro")})
			return err
		}, func(t *testing.T, before, after payments.Billing) {
			assert.Len(t, after.Subscriptions, len(before.Subscriptions)+1)
			assert.Len(t, after.Invoices, len(before.Invoices)+1)
		}},
		"upgrade": {func(ctx context.Context, x subject, a payments.Attempt) error {
			_, err := x.g.ChangePrice(ctx, a, payments.PriceChange{Subscription: x.subscription, Price: sandbox.PriceOf("pro")})
			return err
		}, func(t *testing.T, before, after payments.Billing) {
			assert.Equal(t, sandbox.PriceOf("pro"), after.Subscriptions[0].Price)
			assert.Len(t, after.Invoices, len(before.Invoices)+1, "the difference is charged once")
		}},
		"schedule": {func(ctx context.Context, x subject, a payments.Attempt) error {
			_, err := x.g.ScheduleChange(ctx, a, x.subscription, sandbox.PriceOf("premium"))
			return err
		}, func(t *testing.T, _, after payments.Billing) {
			require.NotNil(t, after.Subscriptions[0].Scheduled)
			assert.Equal(t, sandbox.PriceOf("premium"), after.Subscriptions[0].Scheduled.Price)
		}},
		"cancel": {func(ctx context.Context, x subject, a payments.Attempt) error {
			_, err := x.g.SetCancelAtPeriodEnd(ctx, a, x.subscription, true)
			return err
		}, func(t *testing.T, _, after payments.Billing) {
			assert.True(t, after.Subscriptions[0].CancelAtPeriodEnd)
		}},
		"end": {func(ctx context.Context, x subject, a payments.Attempt) error {
			return x.g.End(ctx, a, x.subscription)
		},
			func(t *testing.T, _, after payments.Billing) {
				assert.Equal(t, "canceled", after.Subscriptions[0].Status)
			}},
		"card": {func(ctx context.Context, x subject, a payments.Attempt) error {
			setup, err := x.g.CreateSetup(ctx, a, x.customer)
			if err != nil {
				return err
			}
			secret, err := x.g.SetupSecret(ctx, setup)
			if err != nil {
				return err
			}
			_ = x.s.Confirm(secret, "pm_card_mastercard") // an earlier attempt has confirmed it
			_, err = x.g.ReplaceCard(ctx, a, x.customer, methodOf(t, x.s, x.customer))
			return err
		}, func(t *testing.T, _, after payments.Billing) { assert.Equal(t, "mastercard", after.Card.Brand) }},
		"item": {func(ctx context.Context, x subject, a payments.Attempt) error {
			_, err := x.g.AddInvoiceItem(ctx, a, x.item())
			return err
		}, nil},
		"item after the end": {func(ctx context.Context, x subject, a payments.Attempt) error {
			if err := x.g.End(ctx, payments.Attempt{ID: uuid.NewString(), First: x.s.Now()}, x.subscription); err != nil {
				return err
			}
			_, err := x.g.AddInvoiceItem(ctx, a, x.item())
			return err
		}, nil},
		"item that is settled": {func(ctx context.Context, x subject, a payments.Attempt) error {
			_, err := x.g.AddInvoiceItem(ctx, a, x.item())
			if err != nil {
				return err
			}
			return x.g.SettleInvoices(ctx, a, x.customer)
		}, func(t *testing.T, _, after payments.Billing) {
			assert.EqualValues(t, 77, after.Invoices[0].AmountPaid)
			assert.EqualValues(t, 1, after.Invoices[0].Attempts)
		}},
		"collect": {func(ctx context.Context, x subject, a payments.Attempt) error {
			if owed[x.customer] == "" {
				owed[x.customer] = addItem(t, x.s, x.customer, 77) // no card pays it, as it belongs to no subscription
				require.NoError(t, x.s.Advance(2*time.Hour))
			}
			return x.g.Collect(ctx, a, x.customer)
		}, func(t *testing.T, before, after payments.Billing) {
			assert.Len(t, after.Invoices, len(before.Invoices)+1)
			assert.EqualValues(t, 77, after.Invoices[0].AmountPaid)
		}},
		"drop": {func(ctx context.Context, x subject, _ payments.Attempt) error {
			if waiting[x.customer] == "" {
				waiting[x.customer] = addItem(t, x.s, x.customer, 7)
			}
			if err := x.g.DropItem(ctx, waiting[x.customer]); err != nil {
				return err
			}
			left, err := openGateway(t, x.s).WaitingItems(t.Context(), x.customer)
			require.NoError(t, err)
			require.Empty(t, left)
			return nil
		}, func(t *testing.T, before, after payments.Billing) {
			assert.Len(t, after.Invoices, len(before.Invoices))
		}},
	}
}

// addItem adds an item without a fault, and returns its id.
func addItem(t *testing.T, s *sandbox.Sandbox, customer string, amount int64) string {
	t.Helper()
	id, err := openGateway(t, s).AddInvoiceItem(t.Context(), payments.Attempt{ID: uuid.NewString(), First: s.Now()},
		newItem(customer, "", amount))
	require.NoError(t, err)
	return id
}

// methodOf returns the payment method of the last set-up.
func methodOf(t *testing.T, s *sandbox.Sandbox, customer string) string {
	t.Helper()
	var last string
	for e, err := range openGateway(t, s).Events(t.Context(), time.Unix(0, 0)) {
		require.NoError(t, err)
		if e.Type == "payment_method.attached" && e.Customer == customer {
			last = e.Object
		}
	}
	return last
}

// Whatever goes wrong at any request of a change: repeating the attempt makes the change exactly once, even when the
// provider has forgotten the idempotency keys.
func TestAChangeIsMadeOnceWhateverGoesWrong(t *testing.T) {
	turn := rand.IntN(2)
	for _, f := range faults() {
		if testing.Short() && !f.forwards && !f.answers {
			continue // the provider has received nothing
		}
		for _, later := range []time.Duration{0, 25 * time.Hour} {
			switch {
			case !f.answers && !f.leaves && later > 0:
				continue // the library repeats it by itself
			case f.leaves && !f.forwards:
				continue // the same as giving up after the previous request
			}
			t.Run(f.name+", repeated after "+later.String(), func(t *testing.T) {
				t.Parallel()
				for name, c := range changes(t) {
					s := openSandbox(t)
					first, step := f.turns(later, turn)
					for nth := first; tryOnce(t, s, f, nth, later, name, c); nth += step {
					}
				}
			})
		}
	}
}

// tryOnce makes the nth request of a change fail, and reports whether there is one.
func tryOnce(t *testing.T, s *sandbox.Sandbox, f fault, nth int, later time.Duration, name string, c change) bool {
	t.Helper()
	l, address := lineTo(t, s.URL())
	g, err := stripe.New(stripe.Config{Key: key, URL: address, Now: s.Now, Pause: time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, g.Close()) }()
	customer, subscription := subscribed(t, s, g)
	x := subject{s, g, customer, subscription}
	before, err := g.Billing(t.Context(), customer)
	require.NoError(t, err)

	a := payments.Attempt{ID: uuid.NewString(), First: s.Now()}
	operation := payments.WithCaller(t.Context(), payments.Caller{Account: "a", Waiting: true})
	ctx, leave := context.WithCancel(operation)
	defer leave()
	_, err = g.Excerpt(ctx, customer, true) // it is cached
	require.NoError(t, err)
	l.breakAt(nth, f, leave)
	if err := c.do(ctx, x, a); err != nil {
		require.ErrorIs(t, err, payments.ErrUnavailable, "%s, request %d", name, nth)
		require.NotContains(t, err.Error(), "hidden")
	}
	happened := l.mended()
	require.NoError(t, s.Advance(later))
	require.Eventually(t, func() bool { return c.do(t.Context(), x, a) == nil }, time.Minute,
		time.Millisecond, "%s, request %d", name, nth)
	require.NoError(t, c.do(t.Context(), x, a))

	after, err := g.Billing(t.Context(), customer)
	require.NoError(t, err)
	if c.check != nil {
		c.check(t, before, after)
		return happened
	}
	require.NoError(t, s.Advance(32*24*time.Hour))
	after, err = g.Billing(t.Context(), customer)
	require.NoError(t, err)
	var items int
	for _, i := range after.Invoices {
		if i.AmountDue%1000 == 77 {
			items++
		}
	}
	assert.Equal(t, 1, items, "%s, request %d: %+v", name, nth, after.Invoices)
	return happened
}

// subscribed returns a customer who pays for the price indie.
func subscribed(t *testing.T, s *sandbox.Sandbox, g *stripe.Gateway) (customer, subscription string) {
	t.Helper()
	attempt := func() payments.Attempt { return payments.Attempt{ID: uuid.NewString(), First: s.Now()} }
	customer, err := g.CreateCustomer(t.Context(), attempt(), "account")
	require.NoError(t, err)
	made, err := g.Subscribe(t.Context(), attempt(), payments.NewSubscription{
		Customer: customer, Price: sandbox.PriceOf("indie"),
	})
	require.NoError(t, err)
	pay, err := g.FirstPayment(t.Context(), made.ID)
	require.NoError(t, err)
	require.NoError(t, s.Confirm(pay.ClientSecret, "pm_card_visa"))
	return customer, made.ID
}

// If the answer to the creation of a customer is lost, then the customer is found by its metadata.
func TestACustomerIsCreatedOnceWhateverGoesWrong(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := openSandbox(t)
			l, address := lineTo(t, s.URL())
			g, err := stripe.New(stripe.Config{Key: key, URL: address, Now: s.Now, Pause: time.Millisecond})
			require.NoError(t, err)
			defer func() { require.NoError(t, g.Close()) }()
			a := payments.Attempt{ID: uuid.NewString(), First: s.Now()}
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			l.breakAt(0, f, leave)
			_, _ = g.CreateCustomer(ctx, a, "account")
			require.True(t, l.mended())
			var customer string
			require.Eventually(t, func() bool {
				customer, err = g.CreateCustomer(t.Context(), a, "account")
				return err == nil
			}, time.Minute, time.Millisecond)
			require.NoError(t, s.Advance(25*time.Hour))
			again, err := g.CreateCustomer(t.Context(), a, "account")
			require.NoError(t, err)
			assert.Equal(t, customer, again)
			var created int
			for e, err := range g.Events(t.Context(), time.Unix(0, 0)) {
				require.NoError(t, err)
				if e.Type == "customer.created" {
					created++
				}
			}
			assert.Equal(t, 1, created)
		})
	}
}

// While the provider is away, requests fail fast; when it is back, they are sent again.
func TestAnOutageIsNoticed(t *testing.T) {
	var mu sync.Mutex
	var asked int
	down := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		if down {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":{"type":"api_error","message":"down"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"id":"cus_1","object":"customer","metadata":{"account":"mine"}}`)
	}))
	t.Cleanup(server.Close)
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return asked
	}
	pause := 200 * time.Millisecond
	g, err := stripe.New(stripe.Config{Key: key, URL: server.URL, Pause: pause})
	require.NoError(t, err)
	defer func() { require.NoError(t, g.Close()) }()
	for range 5 {
		_, err := g.AccountOf(t.Context(), "cus_1")
		require.ErrorIs(t, err, payments.ErrUnavailable)
	}
	before := count()
	_, err = g.AccountOf(t.Context(), "cus_1")
	require.ErrorIs(t, err, payments.ErrUnavailable)
	assert.LessOrEqual(t, count(), before+1, "at most one request probes the provider")
	mu.Lock()
	down = false
	mu.Unlock()
	require.Eventually(t, func() bool {
		account, err := g.AccountOf(t.Context(), "cus_1")
		return err == nil && account == "mine"
	}, time.Minute, 10*time.Millisecond)
}

// Texts of errors may reach clients and logs.
func TestErrorsDoNotQuoteRequestsOrAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		kind   error
	}{
		"declined": {402,
			`{"error":{"type":"card_error","code":"card_declined","decline_code":"stolen_card","message":"hidden"}}`,
			payments.ErrDeclined},
		"not there": {404,
			`{"error":{"type":"invalid_request_error","code":"resource_missing","param":"id","message":"No such customer: 'hidden'"}}`, payments.ErrNotFound},
		"of a field": {400,
			`{"error":{"type":"invalid_request_error","code":"resource_missing","param":"customer","message":"hidden"}}`,
			payments.ErrNotFound},
		"no card": {400,
			`{"error":{"type":"invalid_request_error","code":"resource_missing","message":"This customer has no attached payment source: hidden"}}`, payments.ErrDeclined},
		"not permitted": {400, `{"error":{"type":"invalid_request_error","message":"hidden"}}`, payments.ErrRejected},
		"another body":  {400, `{"error":{"type":"idempotency_error","message":"hidden"}}`, payments.ErrRejected},
		"a wrong key": {401, `{"error":{"type":"invalid_request_error","message":"Invalid API Key provided: hidden"}}`,
			payments.ErrUnavailable},
		"in use": {409, `{"error":{"type":"idempotency_error","code":"idempotency_key_in_use","message":"hidden"}}`,
			payments.ErrUnavailable},
		"too many": {429, `{"error":{"type":"invalid_request_error","code":"rate_limit","message":"hidden"}}`,
			payments.ErrUnavailable},
		"a failure":    {500, `{"error":{"type":"api_error","message":"hidden"}}`, payments.ErrUnavailable},
		"a balancer":   {502, `<html>hidden</html>`, payments.ErrUnavailable},
		"no JSON":      {200, `hidden`, payments.ErrUnavailable},
		"another JSON": {200, `{"id":["hidden"]}`, payments.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Request-Id", "req_1")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			t.Cleanup(server.Close)
			g, err := stripe.New(stripe.Config{Key: "sk_live_hidden", URL: server.URL})
			require.NoError(t, err)
			defer func() { require.NoError(t, g.Close()) }()
			_, err = g.Billing(t.Context(), "cus_hidden")
			require.ErrorIs(t, err, c.kind)
			assert.NotContains(t, err.Error(), "hidden")
			assert.NotContains(t, err.Error(), "stolen", "the reason is not for the client")
			if strings.HasPrefix(c.body, `{"error"`) {
				assert.Contains(t, err.Error(), "req_1", "operators need the provider's id of the request")
			}
		})
	}
	t.Run("no listener", func(t *testing.T) {
		g, err := stripe.New(stripe.Config{Key: "sk_live_hidden", URL: "http://127.0.0.1:1"})
		require.NoError(t, err)
		_, err = g.Billing(t.Context(), "cus_hidden")
		require.ErrorIs(t, err, payments.ErrUnavailable)
		assert.NotContains(t, err.Error(), "hidden")
		assert.Contains(t, err.Error(), "refused")
	})
}

// A request that is not answered times out and is repeated.
func TestAnUnansweredRequestTimesOut(t *testing.T) {
	s := openSandbox(t)
	for _, committed := range []bool{false, true} {
		g, err := stripe.New(stripe.Config{
			Key: key, URL: s.URL(), Now: s.Now, Timeout: 200 * time.Millisecond, Pause: time.Millisecond,
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, g.Close()) }()
		patient := openGateway(t, s)
		customer, subscription := subscribed(t, s, patient)
		before, err := patient.Billing(t.Context(), customer)
		require.NoError(t, err)
		// as often as the library sends the request
		require.NoError(t, s.Faults(sandbox.Fault{
			Do: sandbox.FaultHang, Committed: committed, Method: http.MethodPost, Times: 3, Delay: standins.Span(time.Minute),
		}))
		a := payments.Attempt{ID: uuid.NewString(), First: s.Now()}
		upgrade := payments.PriceChange{Subscription: subscription, Price: sandbox.PriceOf("pro")}
		_, err = g.ChangePrice(t.Context(), a, upgrade)
		require.ErrorIs(t, err, payments.ErrUnavailable)
		require.NoError(t, s.Faults())
		changed, err := patient.ChangePrice(t.Context(), a, upgrade)
		require.NoError(t, err)
		assert.Equal(t, sandbox.PriceOf("pro"), changed.Price)
		after, err := patient.Billing(t.Context(), customer)
		require.NoError(t, err)
		assert.Len(t, after.Invoices, len(before.Invoices)+1, "charged once; committed: %t", committed)
	}
}

// Customers can be read after their deletion at the provider.
func TestADeletedCustomerIsRead(t *testing.T) {
	s := openSandbox(t)
	g := openGateway(t, s)
	customer, subscription := subscribed(t, s, g)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.URL()+"/v1/customers/"+customer, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)

	billing, err := g.Billing(t.Context(), customer)
	require.NoError(t, err)
	assert.True(t, billing.Deleted)
	require.Len(t, billing.Subscriptions, 1)
	assert.Equal(t, []string{subscription, "canceled"}, []string{
		billing.Subscriptions[0].ID, billing.Subscriptions[0].Status,
	})
	_, err = g.AccountOf(t.Context(), customer)
	require.NoError(t, err)
	for e, err := range g.Events(t.Context(), time.Unix(0, 0)) {
		require.NoError(t, err)
		_, err := g.CustomerOf(t.Context(), payments.Event{Type: e.Type, Object: e.Object})
		require.NoError(t, err, "%+v", e)
	}
}

// Two instances may bill the same usage during a renewal, when one of them sees the draft of the new invoice and the
// other does not, and each looks before the other has added its item.
func TestAnItemIsAddedOnceByTwoInstancesThatSeeDifferentDrafts(t *testing.T) {
	for name, renews := range map[string]bool{"the later one saw no draft": true, "the later one saw a draft": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSandbox(t)
			meanwhile := func() {}
			slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && r.URL.Path == "/v1/invoiceitems" {
					meanwhile() // after the look
					meanwhile = func() {}
				}
				target, err := url.Parse(s.URL())
				assert.NoError(t, err)
				httputil.NewSingleHostReverseProxy(target).ServeHTTP(w, r)
			}))
			t.Cleanup(slow.Close)
			direct := openGateway(t, s)
			late, err := stripe.New(stripe.Config{Key: key, URL: slow.URL, Now: s.Now})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, late.Close()) })
			customer, subscription := subscribed(t, s, direct)
			before, err := direct.Billing(t.Context(), customer)
			require.NoError(t, err)
			toRenewal := before.Subscriptions[0].PeriodEnd.Add(time.Minute).Sub(s.Now())
			if !renews {
				require.NoError(t, s.Advance(toRenewal))
			}

			a := payments.Attempt{ID: uuid.NewString(), First: s.Now()}
			item := subject{customer: customer, subscription: subscription}.item()
			var other string
			meanwhile = func() {
				advanced := toRenewal
				if !renews {
					advanced = 2 * time.Hour // the draft is final by now
				}
				assert.NoError(t, s.Advance(advanced))
				var err error
				other, err = direct.AddInvoiceItem(t.Context(), a, item)
				assert.NoError(t, err)
			}
			id, err := late.AddInvoiceItem(t.Context(), a, item)
			require.NoError(t, err)
			require.Equal(t, other, id)

			require.NoError(t, s.Advance(3*time.Hour))
			after, err := direct.Billing(t.Context(), customer)
			require.NoError(t, err)
			var due int64
			for _, i := range after.Invoices {
				due += i.AmountDue
			}
			require.EqualValues(t, 77, due-before.Invoices[0].AmountDue*int64(2), "%v", after.Invoices)
		})
	}
}
