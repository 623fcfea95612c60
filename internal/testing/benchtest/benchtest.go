// Package benchtest reports the results of benchmarks, with those of a bare baseline next to ours. The program in the
// subfolder table prints them as a table.
package benchtest

import (
	"fmt"
	"os"
	"testing"
)

// Target is the target of a figure.
type Target struct {
	prefix string
	bound  float64
}

// The targets. A ratio is ours to the baseline's.
func RatioAtMost(bound float64) Target  { return Target{"max-ratio-", bound} }
func RatioAtLeast(bound float64) Target { return Target{"min-ratio-", bound} }
func AtMost(bound float64) Target       { return Target{"max-", bound} }

// NoTarget is for figures without a target.
func NoTarget() Target { return Target{} }

// Compare reports our figure and that of the baseline, which was measured in the same run.
func Compare(b *testing.B, unit string, ours, bare float64, target Target) {
	b.Helper()
	b.ReportMetric(ours, unit)
	b.ReportMetric(bare, "bare-"+unit)
	b.ReportMetric(ours/bare, "ratio-"+unit)
	if target != NoTarget() {
		b.ReportMetric(target.bound, target.prefix+unit)
	}
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
