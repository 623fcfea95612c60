// Package benchtest reports the results of benchmarks next to a bare baseline. The program in the
// subfolder table prints them as a table, beside the targets that are set there.
package benchtest

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// Compare reports our figure and the baseline's, measured in the same run.
func Compare(b *testing.B, unit string, ours, bare float64) {
	b.Helper()
	b.ReportMetric(ours, unit)
	b.ReportMetric(bare, "bare-"+unit)
	b.ReportMetric(ours/bare, "ratio-"+unit)
}

// Finish reports the load of the machine, including other processes (its load average over a minute), and removes
// ns/op, which is meaningless if an operation is a run of both.
func Finish(b *testing.B) {
	b.Helper()
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		b.Fatal(err)
	}
	var load float64
	if _, err := fmt.Sscan(string(content), &load); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(load, "load")
	b.ReportMetric(0, "ns/op")
}

// Size returns a size for a benchmark, the small one with -short.
func Size(full, small int) int {
	if testing.Short() {
		return small
	}
	return full
}

// Median returns the median of figures and sorts them.
func Median(figures []float64) float64 {
	slices.Sort(figures)
	return figures[len(figures)/2]
}
