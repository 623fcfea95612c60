package app

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/http/web"
)

// metrics are the figures of this instance. No label holds anything that a client sent.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	aborted  *prometheus.CounterVec
	sent     *prometheus.CounterVec
	pages    prometheus.Histogram
	delay    prometheus.Histogram
	alerts   *prometheus.CounterVec

	commands  *prometheus.HistogramVec
	conflicts *prometheus.CounterVec
	unsealed  prometheus.Counter
	appends   *prometheus.HistogramVec
	appended  prometheus.Counter
	synced    prometheus.Histogram
	speech    *speechMetrics
	providers *prometheus.HistogramVec

	projections *projectionMetrics
}

func newMetrics(overview func(context.Context) (feed.Overview, error)) *metrics {
	route := []string{"server", "route", "method"}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "recital_http_request_duration_seconds", Help: "Duration of requests, streams until their end.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 18),
		}, append(route, "status")),
		aborted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_http_streams_aborted_total", Help: "Streams that were cut."}, route),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_http_response_bytes_total", Help: "Bytes of bodies that were sent."}, route),
		pages: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "recital_projection_page_seconds", Help: "Time from a page's arrival to its commit.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "recital_projection_delay_seconds", Help: "Time from an event's record in the log to its commit in the read models.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 18)}),
		alerts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_alerts_total", Help: "Times that this instance has raised an alert."}, []string{"source", "reason"}),
		commands: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "recital_command_duration_seconds", Help: "Duration of commands, from their load to their append.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)}, []string{"command", "outcome"}),
		conflicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_command_conflicts_total", Help: "Times that a command was decided again because its stream had moved."}, []string{"command"}),
		unsealed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "recital_command_addresses_lost_total", Help: "Commands whose client's address is not in the log, because the keyring did not answer."}),
		projections: newProjectionMetrics(overview),
		speech:      newSpeechMetrics(),
		providers:   newProviderMetrics(),
		synced:      newSyncMetrics(),
	}
	m.appends, m.appended = newAppendMetrics()
	m.registry.MustRegister(m.requests, m.aborted, m.sent, m.pages, m.delay, m.alerts, m.commands, m.conflicts, m.unsealed, m.projections,
		m.speech.firstAudio, m.speech.ended, m.speech.characters, m.providers,
		collectors.NewGoCollector(), collectors.NewBuildInfoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) observeCommand(o journal.Observation) {
	outcome := "done"
	switch {
	case o.Err != nil && domain.CodeOf(o.Err) != "" && domain.CodeOf(o.Err) != domain.Unavailable:
		outcome = "refused"
	case o.Err != nil:
		outcome = "failed"
	}
	m.commands.WithLabelValues(o.Command, outcome).Observe(o.Took.Seconds())
	if o.Conflicts > 0 {
		m.conflicts.WithLabelValues(o.Command).Add(float64(o.Conflicts))
	}
}

func (m *metrics) observeAlert(source string, reason alert.Reason) {
	m.alerts.WithLabelValues(source, string(reason)).Inc()
}

// expectAlert shows a counter at zero, so that its first increase is seen.
func (m *metrics) expectAlert(source string, reason alert.Reason) {
	m.alerts.WithLabelValues(source, string(reason))
}

func (m *metrics) observeRequest(server string) func(web.Observation) {
	return func(o web.Observation) {
		m.requests.WithLabelValues(server, o.Route, o.Method, strconv.Itoa(o.Status)).Observe(o.Duration.Seconds())
		m.sent.WithLabelValues(server, o.Route, o.Method).Add(float64(o.Bytes))
		if o.Aborted {
			m.aborted.WithLabelValues(server, o.Route, o.Method).Inc()
		}
	}
}

func (m *metrics) observePage(p feed.PageStats) {
	m.projections.observePage(p)
	m.pages.Observe(p.Took.Seconds())
	m.delay.Observe(p.Delay.Seconds())
}

// route serves the figures in the text format of Prometheus.
func (m *metrics) route() web.Route {
	return web.Get("/metrics", func(*web.Call, struct{}) (web.Reply, error) {
		families, err := m.registry.Gather()
		if err != nil {
			return web.Reply{}, fmt.Errorf("gathering metrics: %w", err)
		}
		var text bytes.Buffer
		for _, family := range families {
			if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
				return web.Reply{}, fmt.Errorf("writing metrics: %w", err)
			}
		}
		return web.Bytes("text/plain; version=0.0.4; charset=utf-8", text.Bytes()), nil
	}, web.Role("operator", "auditor"), web.WhileDraining(), web.Tag("Operators"), web.Summary("Metrics for Prometheus"),
		web.ReturnsMedia([]string{"text/plain"}))
}
