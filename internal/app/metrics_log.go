package app

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode"
)

// observeLog shows what becomes of appends, and for how long the event store has been silent.
func (m *metrics) observeLog(silence func() time.Duration) {
	m.registry.MustRegister(m.appends, m.appended, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "recital_log_silence_seconds", Help: "For how long the event store has answered nothing that it was asked; 0 while it answers.",
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

// observeAppend notes an append. One that a caller has given up counts as failed: whether it was written is unknown.
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

// observedLog passes on what comes of appends.
type observedLog struct {
	eventlog.Log
	appended func(took time.Duration, events int, err error)
}

// Append implements eventlog.Log.
func (l observedLog) Append(ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed) (eventlog.Appended, error) {
	begun := time.Now()
	done, err := l.Log.Append(ctx, stream, expected, events)
	if len(events) > 0 {
		l.appended(time.Since(begun), len(events), err)
	}
	return done, err
}

// appended notes the outcome of an append.
func (a *App) appended(took time.Duration, events int, err error) {
	a.readiness.appended(err)
	a.metrics.observeAppend(took, events, err)
}

// observeNode shows the figures of the embedded event node.
func (m *metrics) observeNode(stats func() eventnode.Stats) {
	gauge := func(name, help string, value func(eventnode.Stats) uint64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value(stats())) })
	}
	m.registry.MustRegister(m.synced,
		gauge("recital_node_log_bytes", "Size of the events in the embedded event node, before compression.", func(s eventnode.Stats) uint64 { return s.LogBytes }),
		gauge("recital_node_verified_bytes", "Size of the events in which the embedded event node's verification has found no damage, before compression.", func(s eventnode.Stats) uint64 { return s.Verified }),
		gauge("recital_node_disk_bytes", "Size of the embedded event node's files.", func(s eventnode.Stats) uint64 { return s.DiskBytes }),
		gauge("recital_node_disk_free_bytes", "Free space of the disk under the embedded event node's files.", func(s eventnode.Stats) uint64 { return s.FreeBytes }),
	)
}

func newSyncMetrics() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "recital_node_sync_seconds", Help: "Duration of the embedded event node's synced writes, of which each may hold many appends.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16)})
}
