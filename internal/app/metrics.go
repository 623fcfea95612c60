package app

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/recital-tts/recital/internal/audio/codec"
	"github.com/recital-tts/recital/internal/feed"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/web"
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

	projections *projectionMetrics
}

func newMetrics(a *App) *metrics {
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
			Name: "recital_projection_alerts_total", Help: "Times that a person should have looked at a projection."}, []string{"projection"}),
		projections: newProjectionMetrics(func(ctx context.Context) (feed.Overview, error) { return a.projector.Overview(ctx) }),
	}
	m.registry.MustRegister(m.requests, m.aborted, m.sent, m.pages, m.delay, m.alerts, m.projections,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(workerGauges(a)...)
	return m
}

func workerGauges(a *App) []prometheus.Collector {
	return slices.Concat(engineGauges("espeak-ng", a.engines), engineGauges("flite", a.second), codecGauges(a.codecs))
}

// engineGauges are the same figures for each engine, which is their label.
func engineGauges(engine string, pool *worker.Pool) []prometheus.Collector {
	gauge := func(name, help string, value func(worker.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{"engine": engine}},
			func() float64 { return value(pool.Stats()) })
	}
	return []prometheus.Collector{
		gauge("recital_speech_engines_alive", "Engine processes that run.", func(s worker.Stats) float64 { return float64(s.Alive) }),
		gauge("recital_speech_engines_busy", "Engine processes that have a job.", func(s worker.Stats) float64 { return float64(s.Busy) }),
		gauge("recital_speech_jobs_waiting", "Jobs that wait for an engine.", func(s worker.Stats) float64 { return float64(s.Queued) }),
		gauge("recital_speech_engine_respawns", "Engine processes that were started again.", func(s worker.Stats) float64 { return float64(s.Respawns) }),
	}
}

func codecGauges(pool *codec.Pool) []prometheus.Collector {
	gauge := func(name, help string, value func(codec.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(pool.Stats()) })
	}
	return []prometheus.Collector{
		gauge("recital_codecs_running", "Codec processes that run.", func(s codec.Stats) float64 { return float64(s.Running) }),
		gauge("recital_codec_streams", "Open codec streams.", func(s codec.Stats) float64 { return float64(s.Streams) }),
		gauge("recital_codec_restarts", "Codec processes that were started again.", func(s codec.Stats) float64 { return float64(s.Restarts) }),
	}
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
