package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// rows runs a command and returns the columns of the table that is printed for its output.
func rows(t *testing.T, output string) (table [][]string, code int) {
	t.Helper()
	var out bytes.Buffer
	code, err := run([]string{"/bin/sh", "-c", output}, &out)
	require.NoError(t, err)
	_, printed, found := strings.Cut(out.String(), "\nBENCHMARK ")
	require.True(t, found, out.String())
	for line := range strings.Lines(printed) {
		table = append(table, strings.Fields(line))
	}
	return table[1:], code
}

func TestWhatBenchmarksReportBecomesATable(t *testing.T) {
	// given what benchmarks report, as go test prints it
	compare := func(target benchtest.Target, bare float64) string {
		return testing.Benchmark(func(b *testing.B) {
			benchtest.Compare(b, "p50-ms", 30, bare, target)
			benchtest.Finish(b)
		}).String()
	}
	output := strings.Join([]string{
		"goos: linux", "pkg: example.org/first",
		"BenchmarkReply/32-2 " + compare(benchtest.RatioAtMost(2), 10) + " 48 B/op 3 allocs/op",
		"BenchmarkReply/1-2 " + compare(benchtest.RatioAtMost(2), 20),
		"BenchmarkRate-2 " + compare(benchtest.RatioAtLeast(0.8), 40),
		"BenchmarkVisible-2 " + compare(benchtest.AtMost(30), 5),
		"PASS", "pkg: example.org/second",
		"BenchmarkFree " + compare(benchtest.NoTarget(), 10),
		"BenchmarkDecode-2 1000 1250 ns/op",
		"BenchmarkRoute/bare-2 1000 100 ns/op",
		"BenchmarkRoute/web-2 1000 150 ns/op 7 B/op",
	}, "\n")

	// when the table is printed, then each figure has one row
	table, code := rows(t, "cat <<'END'\n"+output+"\nEND")
	require.Zero(t, code)
	require.Equal(t, [][]string{
		{"example.org/first"},
		{"Reply/32", "p50-ms", "30", "10", "3", "ratio", "≤", "2", "missed"},
		{"Reply/1", "p50-ms", "30", "20", "1.5", "ratio", "≤", "2", "met"},
		{"Rate", "p50-ms", "30", "40", "0.75", "ratio", "≥", "0.8", "missed"},
		{"Visible", "p50-ms", "30", "5", "6", "≤", "30", "met"},
		{"example.org/second"},
		{"Free", "p50-ms", "30", "10", "3"},
		{"Decode", "ns/op", "1250"},
		{"Route/web", "ns/op", "150", "100", "1.5"},
	}, table)
}

func TestWhatFailsIsShownAndFails(t *testing.T) {
	table, code := rows(t, `cat <<'END'
pkg: example.org/first
--- FAIL: BenchmarkBroken/one-2
BenchmarkNext-2 1 7 ns/op
FAIL
FAIL	example.org/first	0.1s
FAIL	example.org/second [build failed]
END
exit 1`)
	assert.Equal(t, 1, code)
	assert.Equal(t, [][]string{
		{"example.org/first"}, {"Broken/one", "FAILED"}, {"Next", "ns/op", "7"},
		{"example.org/second"}, {"the", "package", "FAILED"},
	}, table)
}
