package app

import (
	"context"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/feed"
)

const (
	overviewAge     = 5 * time.Second // the greatest age of what a scrape returns
	overviewTimeout = time.Second     // how long a scrape waits for Postgres and the log
)

var generationStates = []feed.GenerationState{
	feed.GenerationBuilding, feed.GenerationCurrent, feed.GenerationStopped, feed.GenerationUnfed,
}

// projectionMetrics are the figures of each generation of a read model. Those that come from the database are the same
// on every instance. While it does not answer they are absent, and the scrape goes on without them.
type projectionMetrics struct {
	overview func(context.Context) (feed.Overview, error)
	now      func() time.Time

	events, foreign            *prometheus.CounterVec // of this instance
	lag, behind, state, parked *prometheus.Desc

	counting sync.Mutex
	counted  map[feed.GenerationID]time.Time // when events of a generation were counted last

	asking      sync.Mutex
	asked       time.Time
	generations []feed.Generation // nil when they could not be read
	head        eventlog.Position // of the log at that moment
}

func newProjectionMetrics(overview func(context.Context) (feed.Overview, error)) *projectionMetrics {
	labels := []string{"projection", "version", "generation"}
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append(slices.Clone(labels), more...), nil)
	}
	return &projectionMetrics{
		overview: overview,
		now:      time.Now,
		counted:  map[feed.GenerationID]time.Time{},
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_projection_events_total", Help: "Events that this instance has read into a generation."}, labels),
		foreign: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_projection_foreign_events_total", Help: "Events of foreign streams that a generation has skipped in this instance."}, labels),
		lag:    desc("recital_projection_lag_seconds", "Age of the oldest event that a generation has not read."),
		behind: desc("recital_projection_lag_events", "Events that a generation has not read, estimated from the bytes of the log."),
		state:  desc("recital_projection_state", "1 for the state that a generation is in, 0 for the others.", "state"),
		parked: desc("recital_projection_parked", "Events of a generation that wait for an operator."),
	}
}

func labelsOf(name string, version, number int, more ...string) []string {
	return append([]string{name, strconv.Itoa(version), strconv.Itoa(number)}, more...)
}

func (m *projectionMetrics) observePage(p feed.PageStats) {
	m.counting.Lock()
	defer m.counting.Unlock()
	for _, id := range p.Generations {
		m.counted[id] = m.now()
		m.events.WithLabelValues(labelsOf(id.Name, id.Version, id.Number)...).Add(float64(p.Events))
		if p.Foreign > 0 {
			m.foreign.WithLabelValues(labelsOf(id.Name, id.Version, id.Number)...).Add(float64(p.Foreign))
		}
	}
}

// Describe implements prometheus.Collector.
func (m *projectionMetrics) Describe(descs chan<- *prometheus.Desc) {
	m.events.Describe(descs)
	m.foreign.Describe(descs)
	descs <- m.lag
	descs <- m.behind
	descs <- m.state
	descs <- m.parked
}

// Collect implements prometheus.Collector.
func (m *projectionMetrics) Collect(figures chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels []string) {
		figures <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	generations, head := m.recent()
	for _, g := range generations {
		gauge(m.lag, g.Lag.Seconds(), labelsOf(g.Name, g.Version, g.Number))
		gauge(m.behind, unread(g, head), labelsOf(g.Name, g.Version, g.Number))
		gauge(m.parked, float64(g.Parked), labelsOf(g.Name, g.Version, g.Number))
		for _, state := range generationStates {
			value := 0.0
			if g.State == state {
				value = 1
			}
			gauge(m.state, value, labelsOf(g.Name, g.Version, g.Number, string(state)))
		}
	}
	m.events.Collect(figures)
	m.foreign.Collect(figures)
}

// recent gives the generations as they were a moment ago. What failed is not asked again at once either, so that
// scrapes do not queue up before a database that does not answer.
func (m *projectionMetrics) recent() ([]feed.Generation, eventlog.Position) {
	m.asking.Lock()
	defer m.asking.Unlock()
	if !m.asked.IsZero() && m.now().Sub(m.asked) < overviewAge {
		return m.generations, m.head
	}
	began := m.now()
	ctx, cancel := context.WithTimeout(context.Background(), overviewTimeout)
	defer cancel()
	overview, err := m.overview(ctx)
	m.asked = m.now()
	m.generations = nil
	if err == nil {
		m.generations, m.head = overview.Generations, overview.Head
		m.forgetRetired(began)
	}
	return m.generations, m.head
}

// unread estimates how many events a generation has not read: to count them would mean to read them.
func unread(g feed.Generation, head eventlog.Position) float64 {
	if g.Lag == 0 || head.Commit <= g.Position.Commit {
		return 0
	}
	if g.Events == 0 {
		return 1
	}
	bytesEach := float64(g.Position.Commit) / float64(g.Events)
	return math.Ceil(float64(head.Commit-g.Position.Commit) / bytesEach)
}

// forgetRetired drops the counters of generations that there are no more, so that their number stays that of those
// which there are. One that was fed after the question began is perhaps younger than the answer.
func (m *projectionMetrics) forgetRetired(began time.Time) {
	there := map[feed.GenerationID]bool{}
	for _, g := range m.generations {
		there[feed.GenerationID{Name: g.Name, Version: g.Version, Number: g.Number}] = true
	}
	m.counting.Lock()
	defer m.counting.Unlock()
	for id, last := range m.counted {
		if !there[id] && last.Before(began) {
			delete(m.counted, id)
			m.events.DeleteLabelValues(labelsOf(id.Name, id.Version, id.Number)...)
			m.foreign.DeleteLabelValues(labelsOf(id.Name, id.Version, id.Number)...)
		}
	}
}
