package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// rows runs a command and returns the rows of the table for its output.
func rows(t *testing.T, output, targets string) (table [][]string, code int) {
	t.Helper()
	parsed, err := parseTargets(targets)
	require.NoError(t, err)
	var out bytes.Buffer
	code, err = run([]string{"/bin/sh", "-c", output}, parsed, &out)
	require.NoError(t, err)
	_, printed, found := strings.Cut(out.String(), "\nBENCHMARK ")
	require.True(t, found, out.String())
	for line := range strings.Lines(printed) {
		table = append(table, strings.Fields(line))
	}
	return table[1:], code
}

func TestEachTargetIsComparedWithTheFigureFurthestFromIt(t *testing.T) {
	// given results of benchmarks in go test's format
	compare := func(ours, bare float64) string {
		return testing.Benchmark(func(b *testing.B) {
			benchtest.Compare(b, "p50-ms", ours, bare)
			benchtest.Finish(b)
		}).String()
	}
	output := strings.Join([]string{
		"goos: linux", "pkg: " + module + "first",
		"BenchmarkReply/32-2 " + compare(30, 10) + " 48 B/op 3 allocs/op",
		"BenchmarkReply/1-2 " + compare(30, 20),
		"BenchmarkRate/few-2 " + compare(30, 25),
		"BenchmarkRate/many-2 " + compare(30, 40),
		"PASS", "pkg: " + module + "second",
		"BenchmarkDecode-2 1000 1250 ns/op",
		"BenchmarkRoute/bare-2 1000 100 ns/op",
		"BenchmarkRoute/web-2 1000 150 ns/op 7 B/op",
	}, "\n")

	// when the table is printed, then each target that was measured has one row
	table, code := rows(t, "cat <<'END'\n"+output+"\nEND", strings.Join([]string{
		"first\tReply/*\tp50-ms\tratio ≤ 2",
		"first\tReply/1\tp50-ms\t≤ 30",
		"first\tRate/*\tp50-ms\tratio ≥ 0.8",
		"first\tRate/few\tp50-ms\tratio ≥ 1.2",
		"first\tOther\tp50-ms\tratio ≥ 1.2",
		"second\tDecode\tns/op\t≤ 1000",
		"second\tRoute/*\tns/op\tratio ≤ 2",
	}, "\n"))
	require.Zero(t, code)
	require.Equal(t, [][]string{
		{"first"},
		{"Reply/32", "p50-ms", "30", "10", "3", "ratio", "≤", "2", "missed"},
		{"Reply/1", "p50-ms", "30", "20", "1.5", "≤", "30", "met"},
		{"Rate/many", "p50-ms", "30", "40", "0.75", "ratio", "≥", "0.8", "missed"},
		{"Rate/few", "p50-ms", "30", "25", "1.2", "ratio", "≥", "1.2", "met"},
		{"second"},
		{"Decode", "ns/op", "1250", "≤", "1000", "missed"},
		{"Route/web", "ns/op", "150", "100", "1.5", "ratio", "≤", "2", "met"},
	}, table)
}

func TestFailuresAreShownAndFailTheRun(t *testing.T) {
	table, code := rows(t, `cat <<'END'
pkg: `+module+`first
--- FAIL: BenchmarkBroken/one-2
BenchmarkNext-2 1 7 ns/op
FAIL
FAIL	`+module+`first	0.1s
FAIL	`+module+`second [build failed]
END
exit 1`, "first\tNext\tns/op\t≤ 10")
	assert.Equal(t, 1, code)
	assert.Equal(t, [][]string{
		{"first"}, {"Next", "ns/op", "7", "≤", "10", "met"}, {"Broken/one", "FAILED"},
		{"second"}, {"the", "package", "FAILED"},
	}, table)
}

func TestAMistakeInATargetIsFound(t *testing.T) {
	for _, line := range []string{
		"first\tRate\tp50-ms", "first\t[\tp50-ms\t≤ 1", "first\tRate\tp50-ms\t< 1", "first\tRate\tp50-ms\tratio ≤ many",
	} {
		_, err := parseTargets(line)
		assert.ErrorContains(t, err, "reading the target", line)
	}
}

// TestEachBenchmarkHasATarget keeps the list of targets and the benchmarks of the module together.
func TestEachBenchmarkHasATarget(t *testing.T) {
	targets, err := parseTargets(listed)
	require.NoError(t, err)
	root := filepath.Join("..", "..", "..", "..")
	declared := regexp.MustCompile(`(?m)^func Benchmark(\w+)\(`)
	var targeted, written []string
	for _, target := range targets {
		name, _, _ := strings.Cut(target.benchmark, "/")
		targeted = append(targeted, path.Join(target.folder, name))
	}
	err = filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		for _, name := range declared.FindAllSubmatch(source, -1) {
			written = append(written, path.Join(filepath.ToSlash(folder), string(name[1])))
		}
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, written)
	assert.Subset(t, targeted, written, "benchmarks without a target in targets.tsv")
	assert.Subset(t, written, targeted, "targets without a benchmark")
}
