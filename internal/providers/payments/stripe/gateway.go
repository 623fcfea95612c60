// Package stripe is the adapter of package payments for Stripe's API, by the provider's own library. A change is made
// once, however often it is attempted: each of its requests has an idempotency key derived from the attempt's id. If
// the provider may have forgotten the key, or has failed, the adapter first looks up whether the change was made.
package stripe

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/circuit"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// Config configures a Gateway. Only Key is required.
type Config struct {
	Key     string
	URL     string           // of another server that speaks the API; "" for Stripe's
	Timeout time.Duration    // of one attempt of a request; 20 s
	Rate    int              // maximum number of requests per second; 0 means no limit
	Pause   time.Duration    // without requests after an outage was detected; 5 s
	Now     func() time.Time // the clock for the age of attempts
	Logger  *slog.Logger
	Watch   func(http.RoundTripper) http.RoundTripper // wraps the transport, to measure it; may be nil
}

// retries is the number of retries of one request, under the same idempotency key.
const retries = 2

// Gateway implements payments.Gateway.
type Gateway struct {
	api     *stripe.Client
	backend stripe.Backend // of api, for requests without a method
	key     string
	conns   *http.Transport
	breaker *circuit.Breaker
	now     func() time.Time
}

// New returns a gateway, which must be closed. It sends no request yet.
func New(conf Config) (*Gateway, error) {
	if conf.Key == "" {
		return nil, errors.New("the payment provider's key is empty")
	}
	if conf.Now == nil {
		conf.Now = time.Now
	}
	if conf.Logger == nil {
		conf.Logger = slog.New(slog.DiscardHandler)
	}
	address := cmp.Or(conf.URL, stripe.APIURL)
	if _, err := url.Parse(address); err != nil {
		return nil, errors.New("the payment provider's address is not a URL")
	}
	if conf.Watch == nil {
		conf.Watch = func(t http.RoundTripper) http.RoundTripper { return t }
	}
	conns := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
	}
	backends := stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL: &address,
		HTTPClient: &http.Client{
			Transport: &transport{
				next: conf.Watch(conns), queue: newQueue(conf.Rate), timeout: cmp.Or(conf.Timeout, 20*time.Second),
			},
		},
		// The library would log responses of the provider.
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
		MaxNetworkRetries: stripe.Int64(retries),
		EnableTelemetry:   stripe.Bool(false),
	})
	return &Gateway{
		api: stripe.NewClient(conf.Key, stripe.WithBackends(backends)), backend: backends.API, key: conf.Key,
		conns: conns, breaker: circuit.New("the payment provider", conf.Pause, conf.Logger), now: conf.Now,
	}, nil
}

// Close closes idle connections.
func (g *Gateway) Close() error {
	g.conns.CloseIdleConnections()
	return nil
}

// ask sends a request to the provider, unless there is an outage. A refusal because of too many requests is not an
// outage. The error is one of package payments.
func (g *Gateway) ask(ctx context.Context, question func() error) error {
	report, err := g.breaker.Allow()
	if err != nil {
		return &refusal{kind: payments.ErrUnavailable, because: err, after: g.breaker.Rest()}
	}
	err = understand(ctx, question())
	switch {
	case isLimited(err):
		report(circuit.ErrNoSign)
	case errors.Is(err, payments.ErrUnavailable):
		report(err)
	default:
		report(nil)
	}
	return err
}

// read reads an object from the provider.
func read[T any](ctx context.Context, g *Gateway, retrieve func() (*T, error)) (object *T, err error) {
	err = g.ask(ctx, func() (err error) {
		object, err = retrieve()
		return err
	})
	return object, err
}

// pages are the parameters for reading lists in the largest permitted pages.
var pages = stripe.ListParams{Limit: stripe.Int64(100)}

// all is the limit for reading a list to its end.
const all = math.MaxInt

// list reads a list of the provider until it has found a number of wanted objects.
func list[T any](
	ctx context.Context, g *Gateway, objects stripe.Seq2[T, error], limit int, wanted func(T) bool,
) (found []T, err error) {
	err = g.ask(ctx, func() error {
		for object, err := range objects {
			if err != nil {
				return err
			}
			if wanted(object) {
				found = append(found, object)
			}
			if len(found) == limit {
				return nil
			}
		}
		return nil
	})
	return found, err
}

// find returns the first object of a list that is wanted, or nil.
func find[T any](ctx context.Context, g *Gateway, objects stripe.Seq2[*T, error], wanted func(*T) bool) (*T, error) {
	found, err := list(ctx, g, objects, 1, wanted)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}
