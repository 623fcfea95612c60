package main_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// paymentProvider is the payment sandbox in the test's process, behind a proxy that can hold changes.
type paymentProvider struct {
	*sandbox.Sandbox
	t       *testing.T
	gateway *stripe.Gateway
	front   *httptest.Server
	address string

	mu      sync.Mutex
	changes int
	held    chan struct{} // nil unless the next change is to be held
}

const (
	providerKey    = "sk_test_provider"
	providerSecret = "whsec_provider"
)

func openPaymentProvider(t *testing.T) *paymentProvider {
	t.Helper()
	box, err := sandbox.Open(sandbox.Config{File: filepath.Join(t.TempDir(), "sandbox"), Key: providerKey,
		WebhookSecret: providerSecret, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Close()) })
	gateway, err := stripe.New(stripe.Config{Key: providerKey, URL: box.URL(), Now: box.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, gateway.Close()) })
	b := &paymentProvider{Sandbox: box, t: t, gateway: gateway}
	to, err := url.Parse(box.URL())
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	b.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.pass(w, r, proxy) }))
	t.Cleanup(b.front.Close)
	b.address = b.front.URL
	return b
}

// flags returns the flags of a recitald that uses the provider.
func (b *paymentProvider) flags(more ...string) []string {
	return append([]string{"--stripe-key=" + providerKey, "--stripe-webhook-secret=" + providerSecret, "--stripe-url=" +
		b.address}, more...)
}

// serve starts a recitald that uses the provider and receives its notices.
func (b *paymentProvider) serve(data string, flags ...string) *server {
	b.t.Helper()
	s := start(b.t, data, b.flags(append(flags, "--engines=1")...)...)
	b.SetWebhookURL(s.address + "/payments/webhook")
	s.eventually(func() bool { return len(s.products()) == 4 })
	return s
}

// holdNext holds the next change at the provider forever instead of making it. The channel is closed when it is held.
func (b *paymentProvider) holdNext() (reached <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = make(chan struct{})
	return b.held
}

// asked returns the number of changes that the provider was asked for.
func (b *paymentProvider) asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changes
}

func (b *paymentProvider) pass(w http.ResponseWriter, r *http.Request, to http.Handler) {
	if held := b.count(r); held != nil {
		close(held)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return
	}
	to.ServeHTTP(w, r)
}

// count counts a change, and returns the channel of the one to be held, nil for others.
func (b *paymentProvider) count(r *http.Request) (held chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Method != http.MethodGet {
		b.changes++
		held, b.held = b.held, nil
	}
	return held
}

// get reads an object at the provider.
func (b *paymentProvider) get(path string, into any) {
	b.t.Helper()
	request, err := http.NewRequest(http.MethodGet, b.URL()+path, nil)
	require.NoError(b.t, err)
	request.Header.Set("Authorization", "Bearer "+providerKey)
	answer := requireOK(b.t, do(b.t, request))
	answer.decode(b.t, into)
}

// customers returns the ids of an account's customers at the provider.
func (b *paymentProvider) customers(account string) (ids []string) {
	b.t.Helper()
	var listed struct {
		Data []struct {
			ID       string
			Metadata map[string]string
		}
	}
	b.get("/v1/customers?limit=100", &listed)
	for _, one := range listed.Data {
		if one.Metadata["account"] == account {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// billing returns an account's objects at the provider, where it must have one customer.
func (b *paymentProvider) billing(account string) payments.Billing {
	b.t.Helper()
	customers := b.customers(account)
	require.Len(b.t, customers, 1, "an account has one customer")
	has, err := b.gateway.Billing(b.t.Context(), customers[0])
	require.NoError(b.t, err)
	return has
}

// pays pays a first invoice, or registers a card, like the customer in a browser.
func (b *paymentProvider) pays(secret, method string) {
	b.t.Helper()
	require.NoError(b.t, b.Confirm(secret, method))
}

// registers registers a card, like the customer in a browser, and returns the payment method.
func (b *paymentProvider) registers(secret, method string) string {
	b.t.Helper()
	b.pays(secret, method)
	id, _, _ := strings.Cut(secret, "_secret_")
	var made struct {
		PaymentMethod string `json:"payment_method"`
	}
	b.get("/v1/setup_intents/"+id, &made)
	require.NotEmpty(b.t, made.PaymentMethod)
	return made.PaymentMethod
}
