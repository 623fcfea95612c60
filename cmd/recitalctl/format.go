package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// format is how results are printed: a table for people, JSON for programs.
type format string

const (
	table     format = "table"
	jsonValue format = "json"
)

// print writes value as JSON, or the rows below their head as a table.
func (f format) print(out io.Writer, value any, head []string, rows [][]string) error {
	if f == jsonValue {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(value); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
		return nil
	}
	aligned := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintln(aligned, strings.Join(row, "\t"))
	}
	if err := aligned.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}
