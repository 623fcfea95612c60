package app

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/payments"
	"github.com/recital-tts/recital/internal/tracing"
)

func newProviderMetrics() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "recital_provider_request_seconds", Help: "Duration of requests to a provider, by the class of the reply's status, or none.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2, 13)}, []string{"provider", "status"})
}

// watchedProvider measures the requests to a provider. What is asked, and of whom, stays out of it.
type watchedProvider struct {
	http.RoundTripper
	name string
	took *prometheus.HistogramVec
}

// watchProvider returns a function that measures what a transport carries.
func (m *metrics) watchProvider(name string) func(http.RoundTripper) http.RoundTripper {
	m.providers.WithLabelValues(name, "none")
	return func(transport http.RoundTripper) http.RoundTripper {
		return watchedProvider{transport, name, m.providers}
	}
}

// RoundTrip implements http.RoundTripper.
func (w watchedProvider) RoundTrip(request *http.Request) (*http.Response, error) {
	begun := time.Now()
	ctx, span := tracing.Start(request.Context(), "provider request")
	span.Set("recital.provider", w.name)
	if span.Recorded() {
		request = request.WithContext(ctx)
	}
	response, err := w.RoundTripper.RoundTrip(request)
	span.End(err)
	status := "none"
	if err == nil {
		status = fmt.Sprintf("%dxx", response.StatusCode/100)
	}
	w.took.WithLabelValues(w.name, status).Observe(time.Since(begun).Seconds())
	return response, err
}

// CloseIdleConnections lets a client close the connections that are idle.
func (w watchedProvider) CloseIdleConnections() {
	if transport, closes := w.RoundTripper.(interface{ CloseIdleConnections() }); closes {
		transport.CloseIdleConnections()
	}
}

// countedNotices counts what the payment provider sends.
type countedNotices struct {
	payments.Notice
	genuine, forged prometheus.Counter
}

// countNotices counts the notices of each endpoint by whether the provider has signed them.
func (m *metrics) countNotices(n notices) notices {
	received := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "recital_payment_notices_total", Help: "Notices of the payment provider, by endpoint and by whether it has signed them, just now.",
	}, []string{"endpoint", "signature"})
	m.registry.MustRegister(received)
	counted := func(endpoint string, notice payments.Notice) payments.Notice {
		return countedNotices{notice, received.WithLabelValues(endpoint, "genuine"), received.WithLabelValues(endpoint, "forged")}
	}
	return notices{payments: counted("payments", n.payments), analytics: counted("analytics", n.analytics)}
}

// Verify implements payments.Notice.
func (n countedNotices) Verify(body []byte, signature string, now time.Time) (payments.Event, error) {
	event, err := n.Notice.Verify(body, signature, now)
	if err != nil {
		n.forged.Inc()
	} else {
		n.genuine.Inc()
	}
	return event, err
}
