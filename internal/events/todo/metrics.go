package todo

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the metrics of an instance's workers. They implement prometheus.Collector.
type Metrics struct {
	attempts *prometheus.CounterVec
	failures *prometheus.CounterVec
	givenUp  *prometheus.GaugeVec
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
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(figures chan<- prometheus.Metric) {
	for _, vector := range m.vectors() {
		vector.Collect(figures)
	}
}

// watch shows the figures of a process at zero.
func (m *Metrics) watch(p Process) {
	m.attempts.WithLabelValues(p.Name)
	m.failures.WithLabelValues(p.Name)
	m.givenUp.WithLabelValues(p.Name)
}
