package todo

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// backlogTimeout bounds how long a collection of metrics waits for all lists together, so that a database that does not
// answer delays a scrape once, and not once for each list.
const backlogTimeout = 2 * time.Second

// Metrics are the metrics of an instance's workers. They implement prometheus.Collector. What is due is counted on
// collection, and is left out if the list does not answer.
type Metrics struct {
	attempts *prometheus.CounterVec
	failures *prometheus.CounterVec
	givenUp  *prometheus.GaugeVec
	due      *prometheus.Desc
	oldest   *prometheus.Desc

	mu        sync.Mutex
	processes []Process
}

// NewMetrics returns the metrics of no workers yet.
func NewMetrics() *Metrics {
	process := []string{"process"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, process)
	}
	return &Metrics{
		attempts: counter("recital_todo_attempts_total", "Attempts to carry out an item of a to-do list."),
		failures: counter("recital_todo_failures_total", "Attempts that failed, without outages."),
		givenUp: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "recital_todo_given_up_items", Help: "Items that were given up and are not done."}, process),
		due:    prometheus.NewDesc("recital_todo_due_items", "Items that are due, those that were given up included.", process, nil),
		oldest: prometheus.NewDesc("recital_todo_oldest_due_age_seconds", "How long the oldest due item has been due.", process, nil),
	}
}

func (m *Metrics) vectors() []prometheus.Collector {
	return []prometheus.Collector{m.attempts, m.failures, m.givenUp}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, vector := range m.vectors() {
		vector.Describe(descriptions)
	}
	descriptions <- m.due
	descriptions <- m.oldest
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(figures chan<- prometheus.Metric) {
	for _, vector := range m.vectors() {
		vector.Collect(figures)
	}
	m.mu.Lock()
	processes := m.processes[:len(m.processes):len(m.processes)]
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), backlogTimeout)
	defer cancel()
	for _, p := range processes {
		m.collectBacklog(ctx, p, figures)
	}
}

func (m *Metrics) collectBacklog(ctx context.Context, p Process, figures chan<- prometheus.Metric) {
	now := time.Now()
	backlog, err := p.List.Backlog(ctx, now)
	if err != nil {
		return
	}
	age := 0.0
	if backlog.Items > 0 {
		age = max(0, now.Sub(backlog.Oldest).Seconds())
	}
	figures <- prometheus.MustNewConstMetric(m.due, prometheus.GaugeValue, float64(backlog.Items), p.Name)
	figures <- prometheus.MustNewConstMetric(m.oldest, prometheus.GaugeValue, age, p.Name)
}

// watch adds a process, with its counters at zero.
func (m *Metrics) watch(p Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.processes = append(m.processes, p)
	for _, counter := range []*prometheus.CounterVec{m.attempts, m.failures} {
		counter.WithLabelValues(p.Name)
	}
	m.givenUp.WithLabelValues(p.Name)
}
