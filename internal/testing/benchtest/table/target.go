package main

import (
	_ "embed"
	"fmt"
	"path"
	"strconv"
	"strings"
)

//go:embed targets.tsv
var listed string

// target is what a figure of some benchmarks has to be. A ratio is ours to the baseline's.
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
