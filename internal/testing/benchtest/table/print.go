package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// print writes a row for each figure.
func print(out io.Writer, results []result) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nBENCHMARK\tFIGURE\tOURS\tBARE\tRATIO\tTARGET\t")
	folder := ""
	for _, r := range results {
		if r.folder != folder {
			folder = r.folder
			fmt.Fprintf(table, "%s\t\t\t\t\t\t\n", folder)
		}
		r.print(table)
	}
	return table.Flush()
}

func (r result) print(table io.Writer) {
	if r.failed {
		fmt.Fprintf(table, "  %s\t\t\t\t\t\tFAILED\n", r.name)
	}
	for _, unit := range r.units {
		if r.isFigure(unit) {
			target, verdict := r.target(unit)
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.name, unit, r.number(unit), r.number("bare-"+unit),
				r.number("ratio-"+unit), target, verdict)
		}
	}
}

// isFigure reports whether a unit has a row of its own; those of go test -benchmem, and those that belong to the row
// of another unit, do not.
func (r result) isFigure(unit string) bool {
	if slices.Contains([]string{"B/op", "allocs/op", "load"}, unit) {
		return false
	}
	return !slices.ContainsFunc([]string{"bare-", "ratio-", "max-ratio-", "min-ratio-", "max-"}, func(prefix string) bool {
		figure, has := strings.CutPrefix(unit, prefix)
		_, known := r.values[figure]
		return has && known
	})
}

// number returns "" for a unit that was not reported.
func (r result) number(unit string) string {
	value, reported := r.values[unit]
	if !reported {
		return ""
	}
	return strconv.FormatFloat(value, 'g', 4, 64)
}

func (r result) target(unit string) (target, verdict string) {
	for _, bound := range []struct {
		prefix, figure, text string
		met                  func(figure, bound float64) bool
	}{
		{"max-ratio-", "ratio-" + unit, "ratio ≤ ", func(figure, bound float64) bool { return figure <= bound }},
		{"min-ratio-", "ratio-" + unit, "ratio ≥ ", func(figure, bound float64) bool { return figure >= bound }},
		{"max-", unit, "≤ ", func(figure, bound float64) bool { return figure <= bound }},
	} {
		if value, set := r.values[bound.prefix+unit]; set {
			if bound.met(r.values[bound.figure], value) {
				return bound.text + r.number(bound.prefix+unit), "met"
			}
			return bound.text + r.number(bound.prefix+unit), "missed"
		}
	}
	return "", ""
}
