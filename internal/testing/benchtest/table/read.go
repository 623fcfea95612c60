package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// result is the output of one benchmark.
type result struct {
	folder, name string // the folder within the module
	failed       bool
	values       map[string]float64 // by unit
}

const module = "github.com/recital-tts/recital/"

var processors = regexp.MustCompile(`-\d+$`)

// read collects the results in the output of go test -bench (the Go benchmark data format, and --- FAIL lines).
func read(output io.Reader) (results []result, err error) {
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	folder := ""
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 2 && fields[0] == "pkg:":
			folder = strings.TrimPrefix(fields[1], module)
		case len(fields) >= 3 && fields[0] == "---" && fields[1] == "FAIL:":
			results = append(results, result{folder: folder, name: nameOf(fields[2]), failed: true})
		case len(fields) >= 2 && fields[0] == "FAIL":
			whole := result{folder: strings.TrimPrefix(fields[1], module), name: "the package", failed: true}
			if !slices.ContainsFunc(results, whole.explains) {
				results = append(results, whole)
			}
		case len(fields) >= 4 && strings.HasPrefix(fields[0], "Benchmark"):
			r := result{folder: folder, name: nameOf(fields[0]), values: map[string]float64{}}
			if err := r.take(fields[2:]); err != nil {
				return results, fmt.Errorf("reading %q: %w", lines.Text(), err)
			}
			results = append(results, r)
		}
	}
	return results, lines.Err()
}

// explains reports whether other is the reason why r's package has failed.
func (r result) explains(other result) bool { return other.failed && other.folder == r.folder }

func nameOf(field string) string {
	return processors.ReplaceAllString(strings.TrimPrefix(field, "Benchmark"), "")
}

// take reads pairs of a value and its unit.
func (r result) take(fields []string) error {
	for ; len(fields) >= 2; fields = fields[2:] {
		value, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return err
		}
		r.values[fields[1]] = value
	}
	return nil
}
