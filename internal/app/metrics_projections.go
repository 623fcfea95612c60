package app

import (
	"context"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
)

var generationStates = []feed.GenerationState{
	feed.GenerationBuilding, feed.GenerationCurrent, feed.GenerationStopped, feed.GenerationUnfed,
}

// projectionMetrics are the figures of each generation of a read model. Those that come from the database are the same
// on every instance. While it does not answer they are absent, and the scrape goes on without them.
type projectionMetrics struct {
	overview *recent[feed.Overview]

	events, foreign            *prometheus.CounterVec // of this instance
	lag, behind, state, parked *prometheus.Desc

	counting sync.Mutex
	counted  map[feed.GenerationID]time.Time // when events of a generation were counted last
}

func newProjectionMetrics(overview func(context.Context) (feed.Overview, error)) *projectionMetrics {
	labels := []string{"projection", "version", "generation"}
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append(slices.Clone(labels), more...), nil)
	}
	m := &projectionMetrics{
		counted: map[feed.GenerationID]time.Time{},
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_projection_events_total", Help: "Events that this instance has read into a generation."}, labels),
		foreign: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_projection_foreign_events_total", Help: "Events of foreign streams that a generation has skipped in this instance."}, labels),
		lag:    desc("recital_projection_lag_seconds", "Age of the oldest event that a generation has not read."),
		behind: desc("recital_projection_lag_events", "Events that a generation has not read, estimated from the bytes of the log."),
		state:  desc("recital_projection_state", "1 for the state that a generation is in, 0 for the others.", "state"),
		parked: desc("recital_projection_parked", "Events of a generation that wait for an operator."),
	}
	m.overview = newRecent(func(ctx context.Context) (feed.Overview, error) {
		began := time.Now()
		seen, err := overview(ctx)
		if err == nil {
			m.forgetRetired(seen.Generations, began)
		}
		return seen, err
	})
	return m
}

func labelsOf(name string, version, number int, more ...string) []string {
	return append([]string{name, strconv.Itoa(version), strconv.Itoa(number)}, more...)
}

func (m *projectionMetrics) observePage(p feed.PageStats) {
	m.counting.Lock()
	defer m.counting.Unlock()
	for _, id := range p.Generations {
		m.counted[id] = time.Now()
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
	overview, _ := m.overview.get()
	for _, g := range overview.Generations {
		gauge(m.lag, g.Lag.Seconds(), labelsOf(g.Name, g.Version, g.Number))
		gauge(m.behind, unread(g, overview.Head), labelsOf(g.Name, g.Version, g.Number))
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
func (m *projectionMetrics) forgetRetired(generations []feed.Generation, began time.Time) {
	there := map[feed.GenerationID]bool{}
	for _, g := range generations {
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
