package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/events/todo/pglist"
)

// backlogMetrics are what is due on each to-do list, the same on every instance. They are left out if Postgres does not
// answer.
type backlogMetrics struct {
	processes   []string
	backlogs    *recent[[]pglist.Backlog] // in the order of the processes
	due, oldest *prometheus.Desc
}

func newBacklogMetrics(processes []string, lists []*pglist.View) *backlogMetrics {
	process := []string{"process"}
	return &backlogMetrics{
		processes: processes,
		backlogs: newRecent(func(ctx context.Context) ([]pglist.Backlog, error) {
			return pglist.Backlogs(ctx, lists, time.Now())
		}),
		due:    prometheus.NewDesc("recital_todo_due_items", "Items that are due, those that were given up included.", process, nil),
		oldest: prometheus.NewDesc("recital_todo_oldest_due_age_seconds", "How long the oldest due item has been due.", process, nil),
	}
}

// Describe implements prometheus.Collector.
func (m *backlogMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- m.due
	descs <- m.oldest
}

// Collect implements prometheus.Collector.
func (m *backlogMetrics) Collect(figures chan<- prometheus.Metric) {
	backlogs, _ := m.backlogs.get()
	for i, backlog := range backlogs {
		figures <- prometheus.MustNewConstMetric(m.due, prometheus.GaugeValue, float64(backlog.Items), m.processes[i])
		figures <- prometheus.MustNewConstMetric(m.oldest, prometheus.GaugeValue, ageOf(backlog.Oldest), m.processes[i])
	}
}
