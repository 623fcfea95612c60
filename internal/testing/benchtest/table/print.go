package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

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
