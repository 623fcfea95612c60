package billing_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	api "github.com/stripe/stripe-go/v84"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/access/keyring/memkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key   = "sk_test_billing"
	grace = 14 * 24 * time.Hour
)

var (
	indie, pro, premium = sandbox.PriceOf("indie"), sandbox.PriceOf("pro"), sandbox.PriceOf("premium")

	none   = domain.Repetition{}
	origin = journal.Origin{Actor: eventlog.Actor{Kind: eventlog.ActorAccount, Account: "a"}}
)

// world is billing on a real log, a real keyring and a real provider, whose clock it uses.
type world struct {
	*commandstest.World
	*billing.Billing // of an instance without faults
	sandbox          *sandbox.Sandbox
	api              *api.Client // past the gateway
	keys             *memkeys.Keyring
	overdue          []string // accounts in the read model
	addresses        sync.Map // of accounts, sealed

	mu     sync.Mutex
	raised []billing.Occasion
	deaf   bool // alerts cannot be raised
}

var errDeaf = errors.New("deaf")

func newWorld(t testing.TB) *world {
	t.Helper()
	s := &world{World: commandstest.New(t)}
	s.keys = memkeys.New()
	s.sandbox = newProvider(t)
	address := s.sandbox.URL()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	s.api = api.NewClient(key, api.WithBackends(api.NewBackendsWithConfig(&api.BackendConfig{
		URL: &address, HTTPClient: &http.Client{Transport: transport}, LeveledLogger: &api.LeveledLogger{},
	})))
	s.Billing = s.instance(s.Log, s.gateway(address), "")
	s.Must(s.ObserveCatalogue(t.Context()))
	return s
}

// newProvider returns a provider with notices that get lost.
func newProvider(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	lost := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(lost.Close)
	provider, err := sandbox.Open(sandbox.Config{
		File: filepath.Join(t.TempDir(), "sandbox"), Key: key, WebhookSecret: "whsec", WebhookURL: lost.URL,
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	return provider
}

func (s *world) gateway(address string) *stripe.Gateway {
	s.T.Helper()
	gateway, err := stripe.New(stripe.Config{Key: key, URL: address, Now: s.sandbox.Now})
	require.NoError(s.T, err)
	s.T.Cleanup(func() { require.NoError(s.T, gateway.Close()) })
	return gateway
}

func (s *world) instance(log eventlog.Log, gateway payments.Gateway, coupon string) *billing.Billing {
	s.T.Helper()
	return billing.New(billing.Config{
		Journal: &journal.Journal{Log: log, Registry: s.Journal.Registry}, Gateway: gateway, Keys: s.keys, Views: s,
		Address: s.address, Alert: s.alert, Periods: &books{},
		Now: s.sandbox.Now, Logger: slog.New(slog.DiscardHandler), Coupon: coupon, Grace: grace,
	})
}

// AccountOf implements billing.Views with a read model that lags.
func (s *world) AccountOf(context.Context, string) (string, error) { return "", nil }

// Overdue implements billing.Views.
func (s *world) Overdue(_ context.Context, _ time.Time, after string) (next []string, err error) {
	for _, account := range s.overdue { // one at a time
		if account > after {
			return []string{account}, nil
		}
	}
	return nil, nil
}

func (s *world) address(_ context.Context, account string) ([]byte, error) {
	sealed, _ := s.addresses.Load(account)
	address, _ := sealed.([]byte)
	return address, nil
}

func (s *world) alert(_ context.Context, o billing.Occasion) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaf {
		return errDeaf
	}
	s.raised = append(s.raised, o)
	return nil
}

// alerts returns the raised alerts of a reason. Unpaid invoices are raised at each look, and here once.
func (s *world) alerts(reason alert.Reason) (raised []billing.Occasion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.raised {
		again := reason == alert.Uncollected && slices.ContainsFunc(raised,
			func(known billing.Occasion) bool { return known.Subject == o.Subject })
		if o.Reason == reason && !again {
			raised = append(raised, o)
		}
	}
	return raised
}

func (s *world) state(account string) subscription.State {
	s.T.Helper()
	state, _, err := s.State(s.T.Context(), account)
	require.NoError(s.T, err)
	return state
}

func (s *world) events(account string) []subscription.Event {
	return commandstest.Fold[subscription.Event](s.World, subscription.Stream(account))
}

// has returns the provider's state of an account, or the last state of its customer.
func (s *world) has(account string) payments.Billing {
	s.T.Helper()
	customer := ""
	for _, event := range s.events(account) {
		if created, is := event.(subscription.CustomerCreated); is {
			customer = created.Customer
		}
	}
	if customer == "" {
		return payments.Billing{}
	}
	has, err := s.Gateway.Billing(s.T.Context(), customer)
	require.NoError(s.T, err)
	return has
}

// pay pays the first invoice of a subscription.
func (s *world) pay(made billing.NewSubscription, card string) {
	s.T.Helper()
	require.NoError(s.T, s.sandbox.Confirm(made.ClientSecret, card))
}

// subscribed returns an account with a paid subscription.
func (s *world) subscribed(price string) (account string) {
	s.T.Helper()
	account = accounts.NewAccountID()
	made, err := s.Subscribe(s.T.Context(), account, price, none, origin)
	require.NoError(s.T, err)
	s.pay(made, "pm_card_visa")
	s.Must(s.Refresh(s.T.Context(), account))
	return account
}

// register returns another payment method of an account, like the page for cards.
func (s *world) register(account, card string) string {
	s.T.Helper()
	method, err := s.api.V1PaymentMethods.Attach(s.T.Context(), card,
		&api.PaymentMethodAttachParams{Customer: new(s.state(account).Customer)})
	require.NoError(s.T, err)
	return method.ID
}

// advance advances the clock, and refreshes accounts, as after notices.
func (s *world) advance(d time.Duration, refresh ...string) {
	s.T.Helper()
	require.NoError(s.T, s.sandbox.Advance(d))
	for _, account := range refresh {
		s.Must(s.Refresh(s.T.Context(), account))
	}
}

// cause returns the id of an event.
func cause() uuid.UUID { return uuid.New() }

// mortal returns an instance that crashes by a fuse, with its context.
func (s *world) mortal(t *testing.T, f *commandstest.Fuse) (*billing.Billing, context.Context) {
	t.Helper()
	target, err := url.Parse(s.sandbox.URL())
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	forward.Transport, forward.ErrorLog = transport, slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dies := r.Method != http.MethodGet && f.Pass()
		if dies && !f.After {
			f.Die()
			panic(http.ErrAbortHandler)
		}
		if !dies {
			forward.ServeHTTP(w, r)
			return
		}
		forward.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
		f.Die()
		panic(http.ErrAbortHandler)
	}))
	proxy.Config.ErrorLog = forward.ErrorLog
	t.Cleanup(func() {
		proxy.Close()
		transport.CloseIdleConnections()
	})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	f.Die = cancel
	return s.instance(commandstest.MortalLog{Log: s.Log, Fuse: f}, s.gateway(proxy.URL), ""), ctx
}
