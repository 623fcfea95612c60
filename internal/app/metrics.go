package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/tracing"
	"github.com/recital-tts/recital/internal/process/tracing/otlp"
)

// metrics are the metrics of this instance. Labels never have values from clients.
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
			Name:    "recital_projection_delay_seconds",
			Help:    "Time from an event's record in the log to its commit in the read models.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 18)}),
		alerts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_alerts_total", Help: "Times that this instance has raised an alert."}, []string{"source", "reason"}),
		commands: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "recital_command_duration_seconds", Help: "Duration of commands, from their load to their append.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)}, []string{"command", "outcome"}),
		conflicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_command_conflicts_total",
			Help: "Times that a command was decided again because its stream had moved."}, []string{"command"}),
		unsealed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "recital_command_addresses_lost_total",
			Help: "Commands whose client's address is not in the log, because the keyring did not answer."}),
		projections: newProjectionMetrics(overview),
		speech:      newSpeechMetrics(),
		providers:   newProviderMetrics(),
		synced:      newSyncMetrics(),
	}
	m.appends, m.appended = newAppendMetrics()
	m.registry.MustRegister(m.requests, m.aborted, m.sent, m.pages, m.delay, m.alerts, m.commands, m.conflicts,
		m.unsealed, m.projections,
		m.speech.firstAudio, m.speech.ended, m.speech.characters, m.providers,
		collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
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

// expectAlert initialises a counter to zero, so that its first increase is visible.
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

// route returns the route that serves the metrics in the text format of Prometheus.
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

// gauge returns a metric that is read at each scrape.
func gauge[N int | int64 | uint64](name, help string, value func() N) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
		func() float64 { return float64(value()) })
}

// oneIf returns 1 for true and 0 for false.
func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// statistics have metrics that are read from them at each scrape.
type statistics[S any] struct {
	read   func() S
	labels prometheus.Labels
}

func (s statistics[S]) gauge(name, help string, value func(S) float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: s.labels},
		func() float64 { return value(s.read()) })
}

func (s statistics[S]) counter(name, help string, value func(S) float64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: s.labels},
		func() float64 { return value(s.read()) })
}

// scraped are gauges with values that are determined at each scrape. Gauges without a value are omitted.
type scraped struct {
	descs   []*prometheus.Desc
	collect func(show func(desc *prometheus.Desc, value float64, labels ...string))
}

// Describe implements prometheus.Collector.
func (s scraped) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range s.descs {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (s scraped) Collect(metrics chan<- prometheus.Metric) {
	s.collect(func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	})
}

// observeServer registers the metrics of a server's connections, bodies and sockets.
func (m *metrics) observeServer(name string, stats func() web.Stats) {
	server := statistics[web.Stats]{stats, prometheus.Labels{"server": name}}
	m.registry.MustRegister(
		server.gauge("recital_http_bodies_bytes", "Bytes of requests' bodies in memory, as announced.",
			func(s web.Stats) float64 { return float64(s.Bodies) }),
		server.gauge("recital_http_sockets", "WebSockets of known accounts that are open.",
			func(s web.Stats) float64 { return float64(s.Sockets) }),
		server.gauge("recital_http_connections", "Connections that are open.",
			func(s web.Stats) float64 { return float64(s.Connections) }),
		server.counter("recital_http_connections_evicted_total", "Quiet connections that were closed to make room.",
			func(s web.Stats) float64 { return float64(s.Evicted) }),
		server.counter("recital_http_connections_refused_total",
			"Connections that were closed unanswered, for want of room.",
			func(s web.Stats) float64 { return float64(s.Refused) }),
		server.counter("recital_http_bodies_refused_total", "Requests whose bodies found no room in memory.",
			func(s web.Stats) float64 { return float64(s.RefusedBodies) }),
	)
}

// countedRates counts refused requests.
type countedRates struct {
	web.Rates
	accounts, addresses prometheus.Counter
}

// countRates returns rates that count refused requests of a server; nil stays nil.
func (m *metrics) countRates(server string, rates web.Rates) web.Rates {
	if rates == nil {
		return nil
	}
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "recital_http_rates_refused_total", Help: "Requests over the rate of their account, or of their address.",
		ConstLabels: prometheus.Labels{"server": server},
	}, []string{"of"})
	m.registry.MustRegister(refused)
	return countedRates{
		Rates: rates, accounts: refused.WithLabelValues("account"), addresses: refused.WithLabelValues("address"),
	}
}

// Account implements web.Rates.
func (r countedRates) Account(id, plan string) bool {
	permitted := r.Rates.Account(id, plan)
	if !permitted {
		r.accounts.Inc()
	}
	return permitted
}

// Address implements web.Rates.
func (r countedRates) Address(address netip.Addr) bool {
	permitted := r.Rates.Address(address)
	if !permitted {
		r.addresses.Inc()
	}
	return permitted
}

// observeLog registers the outcomes of appends and the silence of the event store.
func (m *metrics) observeLog(silence func() time.Duration) {
	m.registry.MustRegister(m.appends, m.appended, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "recital_log_silence_seconds",
		Help: "For how long the event store has answered nothing that it was asked; 0 while it answers.",
	}, func() float64 { return silence().Seconds() }))
	for _, outcome := range []string{"done", "conflict", "failed"} {
		m.appends.WithLabelValues(outcome)
	}
}

func newAppendMetrics() (appends *prometheus.HistogramVec, events prometheus.Counter) {
	appends = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "recital_log_append_seconds", Help: "Duration of appends to the event log.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)}, []string{"outcome"})
	events = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "recital_log_appended_events_total", Help: "Events that this instance has appended."})
	return appends, events
}

// observeAppend records an append. A cancelled one counts as failed, because its outcome is unknown.
func (m *metrics) observeAppend(took time.Duration, events int, err error) {
	outcome := "done"
	var conflict *eventlog.ConflictError
	switch {
	case errors.As(err, &conflict):
		outcome = "conflict"
	case err != nil:
		outcome = "failed"
	default:
		m.appended.Add(float64(events))
	}
	m.appends.WithLabelValues(outcome).Observe(took.Seconds())
}

// observeNode registers the statistics of the embedded event node.
func (m *metrics) observeNode(stats func() eventnode.Stats) {
	node := statistics[eventnode.Stats]{read: stats}
	m.registry.MustRegister(m.synced,
		node.gauge("recital_node_log_bytes", "Size of the events in the embedded event node, before compression.",
			func(s eventnode.Stats) float64 { return float64(s.LogBytes) }),
		node.gauge("recital_node_verified_bytes",
			"Size of the events in which the embedded event node's verification has found no damage, before compression.",
			func(s eventnode.Stats) float64 { return float64(s.Verified) }),
		node.gauge("recital_node_disk_bytes", "Size of the embedded event node's files.",
			func(s eventnode.Stats) float64 { return float64(s.DiskBytes) }),
		node.gauge("recital_node_disk_free_bytes", "Free space of the disk under the embedded event node's files.",
			func(s eventnode.Stats) float64 { return float64(s.FreeBytes) }),
	)
}

func newSyncMetrics() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "recital_node_sync_seconds",
		Help:    "Duration of the embedded event node's synced writes, of which each may hold many appends.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16)})
}

// observePool registers the statistics of the connections to Postgres.
func (m *metrics) observePool(pool *pgxpool.Pool) {
	connections := statistics[*pgxpool.Stat]{read: pool.Stat}
	m.registry.MustRegister(
		connections.gauge("recital_postgres_connections_max", "Connections to Postgres that there may be.",
			func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) }),
		connections.gauge("recital_postgres_connections_busy", "Connections to Postgres that are in use.",
			func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) }),
		connections.gauge("recital_postgres_connections_idle", "Connections to Postgres that are open and not in use.",
			func(s *pgxpool.Stat) float64 { return float64(s.IdleConns()) }),
		connections.counter("recital_postgres_acquires_total", "Times that a connection to Postgres was taken.",
			func(s *pgxpool.Stat) float64 { return float64(s.AcquireCount()) }),
		connections.counter("recital_postgres_waits_total",
			"Times that none was free, so that the caller waited for one or opened it.",
			func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) }),
		connections.counter("recital_postgres_wait_seconds_total",
			"Time that callers have waited for a connection to Postgres.",
			func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() }),
		connections.counter("recital_postgres_given_up_total",
			"Times that a caller's patience ended before there was a connection to Postgres.",
			func(s *pgxpool.Stat) float64 { return float64(s.CanceledAcquireCount()) }),
		connections.counter("recital_postgres_connects_total", "Connections to Postgres that were opened.",
			func(s *pgxpool.Stat) float64 { return float64(s.NewConnsCount()) }),
	)
}

// speechMetrics are the metrics of syntheses.
type speechMetrics struct {
	firstAudio        *prometheus.HistogramVec
	ended, characters *prometheus.CounterVec
}

func newSpeechMetrics() *speechMetrics {
	m := &speechMetrics{
		firstAudio: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "recital_speech_first_audio_seconds",
			Help:    "Time from the beginning of a synthesis until its first audio was handed to the connection.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)}, []string{"kind", "format"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_speech_syntheses_total",
			Help: "Syntheses, and units of WebSockets, that have ended, by what became of them."}, []string{"kind", "outcome"}),
		characters: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_speech_characters_total", Help: "Characters that were spoken and count."}, []string{"kind"}),
	}
	for _, kind := range []synthesis.Kind{synthesis.Streamed, synthesis.Collected, synthesis.Spoken} {
		m.characters.WithLabelValues(string(kind))
		for _, outcome := range []synthesis.Outcome{synthesis.Done, synthesis.Refused, synthesis.Cut, synthesis.Failed} {
			m.ended.WithLabelValues(string(kind), string(outcome))
		}
	}
	return m
}

func (m *speechMetrics) observe(o synthesis.Observation) {
	m.ended.WithLabelValues(string(o.Kind), string(o.Outcome)).Inc()
	m.characters.WithLabelValues(string(o.Kind)).Add(float64(o.Characters))
	if o.FirstAudio > 0 {
		m.firstAudio.WithLabelValues(string(o.Kind), string(o.Format)).Observe(o.FirstAudio.Seconds())
	}
}

func newProviderMetrics() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "recital_provider_request_seconds",
		Help:    "Duration of requests to a provider, by the class of the reply's status, or none.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2, 13)}, []string{"provider", "status"})
}

// watchedProvider measures the requests to a provider, without their content.
type watchedProvider struct {
	http.RoundTripper
	name string
	took *prometheus.HistogramVec
}

// watchProvider returns a function that wraps a transport to measure its requests.
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

// CloseIdleConnections lets a client close idle connections.
func (w watchedProvider) CloseIdleConnections() {
	if transport, closes := w.RoundTripper.(interface{ CloseIdleConnections() }); closes {
		transport.CloseIdleConnections()
	}
}

const (
	recentAge     = 5 * time.Second // the maximum age of a shared answer
	recentTimeout = time.Second     // the time that a scrape waits for an answer
)

// recent is an answer of Postgres or of the log that scrapes share, so that many cost as little as one. Failures are
// shared, too, so that scrapes do not queue up before a database that does not answer.
type recent[T any] struct {
	ask func(context.Context) (T, error)

	mu     sync.Mutex // held while asking: concurrent scrapes wait for that answer
	asked  time.Time
	answer T
	known  bool
}

func newRecent[T any](ask func(context.Context) (T, error)) *recent[T] { return &recent[T]{ask: ask} }

// get returns the recent answer, or the zero value and false if there is none.
func (r *recent[T]) get() (answer T, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked.IsZero() || time.Since(r.asked) >= recentAge {
		ctx, cancel := context.WithTimeout(context.Background(), recentTimeout)
		defer cancel()
		answer, err := r.ask(ctx)
		if err != nil {
			answer = *new(T)
		}
		r.asked, r.answer, r.known = time.Now(), answer, err == nil
	}
	return r.answer, r.known
}

// openTraces exports traces if an endpoint for them is set. Otherwise there is no tracer.
func (a *App) openTraces(ctx context.Context) error {
	if a.cfg.TraceEndpoint == "" {
		return nil
	}
	exporter, err := otlp.Open(ctx, otlp.Config{Endpoint: a.cfg.TraceEndpoint, Instance: a.instance(), Logger: a.log})
	if err != nil {
		return err
	}
	a.onClose("the export of traces", exporter.Close)
	a.traces = exporter.Tracer()
	return nil
}

func (c Config) checkTraces() error {
	if c.TraceEndpoint == "" {
		return nil
	}
	return otlp.Check(c.TraceEndpoint)
}
