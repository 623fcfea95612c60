package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// format is the output format: a table for people, JSON and CSV for programs.
type format string

const (
	table     format = "table"
	jsonValue format = "json"
	csvRows   format = "csv"
)

// print writes value as JSON, or the rows below head as a table or as CSV.
func (f format) print(out io.Writer, value any, head []string, rows [][]string) error {
	var err error
	switch f {
	case jsonValue:
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(value)
	case csvRows:
		err = csv.NewWriter(out).WriteAll(inOneLine(head, rows))
	default:
		aligned := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, row := range inOneLine(head, rows) {
			fmt.Fprintln(aligned, strings.Join(row, "\t"))
		}
		err = aligned.Flush()
	}
	if err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// inOneLine prevents text from the server from breaking rows and columns.
func inOneLine(head []string, rows [][]string) [][]string {
	all := [][]string{head}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
		}
		all = append(all, cells)
	}
	return all
}

// column is a column of a table with separate values for people and programs.
type column[T any] struct {
	name   string
	people func(T) string
	raw    func(T) string // nil if it is the same
}

// printColumns prints values in the format.
func printColumns[T any](f format, out io.Writer, value any, columns []column[T], values []T) error {
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = c.name
		if f == table {
			head[i] = strings.ToUpper(strings.ReplaceAll(c.name, "_", " "))
		}
	}
	rows := make([][]string, len(values))
	for i, value := range values {
		for _, c := range columns {
			form := c.people
			if f == csvRows && c.raw != nil {
				form = c.raw
			}
			rows[i] = append(rows[i], form(value))
		}
	}
	return f.print(out, value, head, rows)
}
