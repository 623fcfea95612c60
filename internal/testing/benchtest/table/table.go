// Table runs go test with its own arguments, passes its output on, and finally prints one table of the targets in
// targets.tsv with the figures that the benchmarks reported. Its exit code is that of go test: a missed target is not a
// failure.
package main

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

//go:embed targets.tsv
var listed string

// target is the required value of a figure of some benchmarks. A ratio is ours to the baseline's.
type target struct {
	folder, benchmark, figure string // benchmark is a pattern of path.Match
	ratio, atLeast            bool
	bound                     float64
}

// parseTargets reads lines of four columns with tabs between them: the package's folder, the benchmarks, the figure and
// its bound, such as "ratio ≥ 0.8" or "≤ 2".
func parseTargets(lines string) (targets []target, err error) {
	for line := range strings.Lines(lines) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(columns) != 4 {
			return nil, fmt.Errorf("reading the target %q: it has %d columns instead of 4", line, len(columns))
		}
		if _, err := path.Match(columns[1], ""); err != nil {
			return nil, fmt.Errorf("reading the target %q: %w", line, err)
		}
		t := target{folder: columns[0], benchmark: columns[1], figure: columns[2]}
		bound, ratio := strings.CutPrefix(columns[3], "ratio ")
		sign, number, _ := strings.Cut(bound, " ")
		if sign != "≤" && sign != "≥" {
			return nil, fmt.Errorf("reading the target %q: a bound begins with ≤ or ≥", line)
		}
		t.ratio, t.atLeast = ratio, sign == "≥"
		if t.bound, err = strconv.ParseFloat(number, 64); err != nil {
			return nil, fmt.Errorf("reading the target %q: %w", line, err)
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// String returns the bound as it is listed.
func (t target) String() string {
	text := "≤ "
	if t.atLeast {
		text = "≥ "
	}
	if t.ratio {
		text = "ratio " + text
	}
	return text + format(t.bound)
}

// worst returns the result that is furthest from the target, if any has its figure.
func (t target) worst(results []result) (worst result, found bool) {
	for _, r := range results {
		if _, measured := t.of(r); !measured {
			continue
		}
		if !found || t.isWorse(r, worst) {
			worst, found = r, true
		}
	}
	return worst, found
}

func (t target) isWorse(r, than result) bool {
	a, _ := t.of(r)
	b, _ := t.of(than)
	return a != b && (a < b) == t.atLeast
}

// of returns the figure that r has for the target.
func (t target) of(r result) (figure float64, measured bool) {
	if matches, _ := path.Match(t.benchmark, r.name); !matches || r.folder != t.folder {
		return 0, false
	}
	unit := t.figure
	if t.ratio {
		unit = "ratio-" + unit
	}
	figure, measured = r.values[unit]
	return figure, measured
}

func (t target) met(r result) bool {
	figure, _ := t.of(r)
	return figure == t.bound || (figure > t.bound) == t.atLeast
}

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

// pair adds the time of a sub-benchmark "bare" to those of its siblings.
func pair(results []result) []result {
	for i := range results {
		bare := slices.IndexFunc(results, results[i].isBareOf)
		if bare < 0 || results[i].failed || results[bare].failed {
			continue
		}
		ours, its := results[i].values, results[bare].values
		ours["bare-ns/op"], ours["ratio-ns/op"] = its["ns/op"], ours["ns/op"]/its["ns/op"]
	}
	return slices.DeleteFunc(slices.Clone(results), func(r result) bool {
		return !r.failed && path.Base(r.name) == "bare"
	})
}

// isBareOf reports whether r is the baseline of other.
func (r result) isBareOf(other result) bool {
	parent, name := path.Split(r.name)
	return parent != "" && name != "bare" && other.folder == r.folder && other.name == parent+"bare"
}

// print writes a row for each target, with the figure that is furthest from it, and one for each benchmark that failed.
func print(out io.Writer, results []result, targets []target) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nBENCHMARK\tFIGURE\tOURS\tBARE\tRATIO\tTARGET\t")
	folder := ""
	enter := func(next string) {
		if folder != next {
			folder = next
			fmt.Fprintf(table, "%s\t\t\t\t\t\t\n", folder)
		}
	}
	for _, t := range targets {
		r, found := t.worst(results)
		if !found {
			continue
		}
		enter(t.folder)
		verdict := "missed"
		if t.met(r) {
			verdict = "met"
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.name, t.figure, r.number(t.figure), r.number("bare-"+t.figure),
			r.number("ratio-"+t.figure), t, verdict)
	}
	for _, r := range results {
		if r.failed {
			enter(r.folder)
			fmt.Fprintf(table, "  %s\t\t\t\t\t\tFAILED\n", r.name)
		}
	}
	return table.Flush()
}

// number returns "" for a unit that was not reported.
func (r result) number(unit string) string {
	value, reported := r.values[unit]
	if !reported {
		return ""
	}
	return format(value)
}

// format returns four digits that count, or all of the whole number.
func format(value float64) string {
	if value >= 1000 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 4, 64)
}

func main() {
	targets, err := parseTargets(listed)
	code := 1
	if err == nil {
		code, err = run(os.Args[1:], targets, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
	}
	os.Exit(code)
}

func run(command []string, targets []target, out io.Writer) (code int, err error) {
	if len(command) == 0 {
		return 2, errors.New("usage: table COMMAND ARGUMENT…")
	}
	tests := exec.Command(command[0], command[1:]...)
	tests.Stderr = os.Stderr
	output, err := tests.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := tests.Start(); err != nil {
		return 1, err
	}
	results, readErr := read(io.TeeReader(output, out))
	_, copyErr := io.Copy(out, output) // go test would block without a reader
	if err := tests.Wait(); err != nil || readErr != nil {
		code = 1
	}
	return code, errors.Join(readErr, copyErr, print(out, pair(results), targets))
}
