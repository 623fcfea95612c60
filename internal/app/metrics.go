package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/common/expfmt"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/http/rates"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/tracing"
	"github.com/recital-tts/recital/internal/process/tracing/otlp"
)

// metrics are the metrics of this instance. Labels never have values from clients.
type metrics struct {
	registry *prometheus.Registry
	figures  *figures
	requests *prometheus.HistogramVec
	aborted  *prometheus.CounterVec
	sent     *prometheus.CounterVec
	pages    prometheus.Observer
	delay    prometheus.Observer
	alerts   *prometheus.CounterVec

	commands  *prometheus.HistogramVec
	conflicts *prometheus.CounterVec
	unsealed  prometheus.Counter
	appends   *prometheus.HistogramVec
	appended  prometheus.Counter
	providers *prometheus.HistogramVec

	firstAudio        *prometheus.HistogramVec
	ended, characters *prometheus.CounterVec // of syntheses

	projections *projectionMetrics
}

func newMetrics(overview func(context.Context) (feed.Overview, error)) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), projections: newProjectionMetrics(overview)}
	route := []string{"server", "route", "method"}
	m.requests = m.histogram("recital_http_request_duration_seconds", "Duration of requests, streams until their end.",
		doubled(0.0005, 18), append(route, "status")...)
	m.aborted = m.counter("recital_http_streams_aborted_total", "Streams that were cut.", route...)
	m.sent = m.counter("recital_http_response_bytes_total", "Bytes of bodies that were sent.", route...)
	m.pages = m.histogram("recital_projection_page_seconds", "Time from a page's arrival to its commit.",
		doubled(0.0005, 14)).WithLabelValues()
	m.delay = m.histogram("recital_projection_delay_seconds",
		"Time from an event's record in the log to its commit in the read models.", doubled(0.0005, 18)).WithLabelValues()
	m.alerts = m.counter("recital_alerts_total", "Times that this instance has raised an alert.", "source", "reason")
	m.commands = m.histogram("recital_command_duration_seconds", "Duration of commands, from their load to their append.",
		doubled(0.0005, 14), "command", "outcome")
	m.conflicts = m.counter("recital_command_conflicts_total",
		"Times that a command was decided again because its stream had moved.", "command")
	m.unsealed = m.counter("recital_command_addresses_lost_total",
		"Commands whose client's address is not in the log, because the keyring did not answer.").WithLabelValues()
	m.providers = m.histogram("recital_provider_request_seconds",
		"Duration of requests to a provider, by the class of the reply's status, or none.",
		doubled(0.005, 13), "provider", "status")
	m.addSpeech()
	m.figures = newFigures(m.projections.overview)
	m.registry.MustRegister(scraped(m.projections.read), collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// histogram returns a new metric of durations with the upper bounds of its buckets, in seconds.
func (m *metrics) histogram(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	return promauto.With(m.registry).NewHistogramVec(
		prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
}

// doubled returns bounds of which each is twice the one before.
func doubled(first float64, count int) []float64 {
	return prometheus.ExponentialBuckets(first, 2, count)
}

// counter returns a new metric of counts.
func (m *metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return promauto.With(m.registry).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
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
		if server == "public" {
			m.figures.countRequest(o)
		}
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

// scraped are metrics with values that are determined at each scrape. Those without a value are omitted.
type scraped func() []prometheus.Metric

// Describe implements prometheus.Collector. It describes none, because their labels are not known in advance.
func (s scraped) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (s scraped) Collect(metrics chan<- prometheus.Metric) {
	for _, m := range s() {
		metrics <- m
	}
}

// scrape registers metrics that are read at each scrape.
func (m *metrics) scrape(read func() []prometheus.Metric) { m.registry.MustRegister(scraped(read)) }

// number is the type of a metric's value.
type number interface {
	~int | ~int32 | ~int64 | ~uint64 | ~float64
}

// gauge returns the current value of a metric. The labels are pairs of a name and a value.
func gauge[N number](name, help string, value N, labels ...string) prometheus.Metric {
	return valueOf(prometheus.GaugeValue, name, help, float64(value), labels)
}

// total is gauge for a count that never falls.
func total[N number](name, help string, value N, labels ...string) prometheus.Metric {
	return valueOf(prometheus.CounterValue, name, help, float64(value), labels)
}

func valueOf(kind prometheus.ValueType, name, help string, value float64, labels []string) prometheus.Metric {
	pairs := prometheus.Labels{}
	for pair := range slices.Chunk(labels, 2) {
		pairs[pair[0]] = pair[1]
	}
	return prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, pairs), kind, value)
}

// gaugeFunc returns a metric that is read at each scrape.
func gaugeFunc[N number](name, help string, value func() N) prometheus.Collector {
	return scraped(func() []prometheus.Metric { return []prometheus.Metric{gauge(name, help, value())} })
}

// oneIf returns 1 for true and 0 for false.
func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// serverMetrics returns the metrics of a server's connections, bodies and sockets.
func serverMetrics(name string, s web.Stats) []prometheus.Metric {
	return []prometheus.Metric{
		gauge("recital_http_bodies_bytes", "Bytes of requests' bodies in memory, as announced.", s.Bodies, "server", name),
		gauge("recital_http_sockets", "WebSockets of known accounts that are open.", s.Sockets, "server", name),
		gauge("recital_http_connections", "Connections that are open.", s.Connections, "server", name),
		total("recital_http_connections_evicted_total", "Quiet connections that were closed to make room.",
			s.Evicted, "server", name),
		total("recital_http_connections_refused_total", "Connections that were closed unanswered, for want of room.",
			s.Refused, "server", name),
		total("recital_http_bodies_refused_total", "Requests whose bodies found no room in memory.",
			s.RefusedBodies, "server", name),
	}
}

// rateMetrics returns the metrics of requests over their rates.
func rateMetrics(limiter *rates.Limiter) []prometheus.Metric {
	const name, help = "recital_http_rates_refused_total", "Requests over the rate of their account, or of their address."
	accounts, addresses := limiter.Over()
	return []prometheus.Metric{
		total(name, help, accounts, "server", "public", "of", "account"),
		total(name, help, addresses, "server", "public", "of", "address"),
	}
}

// observeLog registers the outcomes of appends and the silence of the event store.
func (m *metrics) observeLog(silence func() time.Duration) {
	m.appends = m.histogram("recital_log_append_seconds", "Duration of appends to the event log.", doubled(0.0005, 14),
		"outcome")
	for _, outcome := range []string{"done", "conflict", "failed"} {
		m.appends.WithLabelValues(outcome)
	}
	m.appended = m.counter("recital_log_appended_events_total",
		"Events that this instance has appended.").WithLabelValues()
	m.registry.MustRegister(gaugeFunc("recital_log_silence_seconds",
		"For how long the event store has answered nothing that it was asked; 0 while it answers.",
		func() float64 { return silence().Seconds() }))
}

// observeAppend records an append. A cancelled one counts as failed, because its outcome is unknown.
func (m *metrics) observeAppend(took time.Duration, events int, err error) {
	outcome := "done"
	switch _, conflict := errors.AsType[*eventlog.ConflictError](err); {
	case conflict:
		outcome = "conflict"
	case err != nil:
		outcome = "failed"
	default:
		m.appended.Add(float64(events))
	}
	m.appends.WithLabelValues(outcome).Observe(took.Seconds())
}

// observeSyncs returns a function that records a synced write of the embedded event node.
func (m *metrics) observeSyncs() func(took time.Duration) {
	synced := m.histogram("recital_node_sync_seconds",
		"Duration of the embedded event node's synced writes, of which each may hold many appends.",
		doubled(0.0001, 16)).WithLabelValues()
	return func(took time.Duration) { synced.Observe(took.Seconds()) }
}

// nodeMetrics returns the metrics of the embedded event node.
func nodeMetrics(s eventnode.Stats) []prometheus.Metric {
	return []prometheus.Metric{
		gauge("recital_node_log_bytes", "Size of the events in the embedded event node, before compression.", s.LogBytes),
		gauge("recital_node_verified_bytes",
			"Size of the events in which the embedded event node's verification has found no damage, before compression.",
			s.Verified),
		gauge("recital_node_disk_bytes", "Size of the embedded event node's files.", s.DiskBytes),
		gauge("recital_node_disk_free_bytes", "Free space of the disk under the embedded event node's files.", s.FreeBytes),
	}
}

// poolMetrics returns the metrics of the connections to Postgres.
func poolMetrics(s *pgxpool.Stat) []prometheus.Metric {
	return []prometheus.Metric{
		gauge("recital_postgres_connections_max", "Connections to Postgres that there may be.", s.MaxConns()),
		gauge("recital_postgres_connections_busy", "Connections to Postgres that are in use.", s.AcquiredConns()),
		gauge("recital_postgres_connections_idle", "Connections to Postgres that are open and not in use.", s.IdleConns()),
		total("recital_postgres_acquires_total", "Times that a connection to Postgres was taken.", s.AcquireCount()),
		total("recital_postgres_waits_total",
			"Times that none was free, so that the caller waited for one or opened it.", s.EmptyAcquireCount()),
		total("recital_postgres_wait_seconds_total", "Time that callers have waited for a connection to Postgres.",
			s.EmptyAcquireWaitTime().Seconds()),
		total("recital_postgres_given_up_total",
			"Times that a caller's patience ended before there was a connection to Postgres.", s.CanceledAcquireCount()),
		total("recital_postgres_connects_total", "Connections to Postgres that were opened.", s.NewConnsCount()),
	}
}

// firstAudioBounds are the bounds of the times until first audio, in seconds.
func firstAudioBounds() []float64 { return doubled(0.001, 15) }

// addSpeech adds the metrics of syntheses.
func (m *metrics) addSpeech() {
	m.firstAudio = m.histogram("recital_speech_first_audio_seconds",
		"Time from the beginning of a synthesis until its first audio was handed to the connection.",
		firstAudioBounds(), "kind", "format")
	m.ended = m.counter("recital_speech_syntheses_total",
		"Syntheses, and units of WebSockets, that have ended, by what became of them.", "kind", "outcome")
	m.characters = m.counter("recital_speech_characters_total", "Characters that were spoken and count.", "kind")
	for _, kind := range []synthesis.Kind{synthesis.Streamed, synthesis.Collected, synthesis.Spoken} {
		m.characters.WithLabelValues(string(kind))
		for _, outcome := range []synthesis.Outcome{synthesis.Done, synthesis.Refused, synthesis.Cut, synthesis.Failed} {
			m.ended.WithLabelValues(string(kind), string(outcome))
		}
	}
}

func (m *metrics) observeSynthesis(o synthesis.Observation) {
	m.figures.countSynthesis(o)
	m.ended.WithLabelValues(string(o.Kind), string(o.Outcome)).Inc()
	m.characters.WithLabelValues(string(o.Kind)).Add(float64(o.Characters))
	if o.FirstAudio > 0 {
		m.firstAudio.WithLabelValues(string(o.Kind), string(o.Format)).Observe(o.FirstAudio.Seconds())
	}
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
