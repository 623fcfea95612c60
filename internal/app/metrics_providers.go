package app

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/process/tracing"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/signin"
)

func newProviderMetrics() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "recital_provider_request_seconds", Help: "Duration of requests to a provider, by the class of the reply's status, or none.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2, 13)}, []string{"provider", "status"})
}

// countFailedSignIns returns a function that counts sign-ins that have failed, and shows each reason at zero.
func (m *metrics) countFailedSignIns() func(provider string, reason signin.Reason) {
	failed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "recital_sign_ins_failed_total", Help: "Sign-ins that failed, by the identity provider and the reason."}, []string{"provider", "reason"})
	m.registry.MustRegister(failed)
	count := func(provider string, reason signin.Reason) prometheus.Counter {
		return failed.WithLabelValues(provider, string(reason))
	}
	for _, provider := range providerNames {
		for _, reason := range signin.Reasons() {
			count(provider, reason)
		}
	}
	return func(provider string, reason signin.Reason) { count(provider, reason).Inc() }
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

// countNotices returns the notices of an endpoint, which counter counts, and shows how many the provider has signed.
func (m *metrics) countNotices(endpoint string, counter *noticeCounter, n payments.Notice) payments.Notice {
	for signature, count := range map[string]func() uint64{"genuine": counter.genuine, "forged": counter.refused.Load} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "recital_payment_notices_total", Help: "Notices of the payment provider, by endpoint and by whether it has signed them, just now.",
			ConstLabels: prometheus.Labels{"endpoint": endpoint, "signature": signature},
		}, func() float64 { return float64(count()) }))
	}
	return countedNotices{n, counter}
}
