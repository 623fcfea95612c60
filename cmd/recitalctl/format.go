package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
)

// format is the output format: a table for people, JSON and CSV for programs.
type format string

const (
	table     format = "table"
	jsonValue format = "json"
	csvRows   format = "csv"
)

// print writes value as JSON, or the rows below head as a table or as CSV.
func (f format) print(to terminal, value any, head []string, rows [][]string) error {
	var err error
	switch f {
	case jsonValue:
		encoder := json.NewEncoder(to.out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(value)
	case csvRows:
		err = csv.NewWriter(to.out).WriteAll(append([][]string{head}, inOneLine(rows)...))
	default:
		err = printTable(to, append([][]string{head}, inOneLine(rows)...))
	}
	if err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// inOneLine prevents text from the server from breaking rows and columns.
func inOneLine(rows [][]string) [][]string {
	all := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			all[i] = append(all[i], printable(cell))
		}
	}
	return all
}

// column is a column of a table with separate values for people and programs.
type column[T any] struct {
	name   string
	people func(T) string
	raw    func(T) string // nil if it is the same
	wide   bool           // tables have it with --wide only
}

// printColumns prints values in the format.
func printColumns[T any](f format, to terminal, value any, columns []column[T], values []T) error {
	head, rows := cellsOf(f, to, columns, values)
	return f.print(to, value, head, rows)
}

func cellsOf[T any](f format, to terminal, columns []column[T], values []T) (head []string, rows [][]string) {
	rows = make([][]string, len(values))
	for _, c := range columns {
		if c.wide && f == table && !to.wide {
			continue
		}
		name, form := c.name, c.people
		if f == table {
			name = strings.ToUpper(strings.ReplaceAll(name, "_", " "))
		} else if c.raw != nil {
			form = c.raw
		}
		head = append(head, name)
		for i, value := range values {
			rows[i] = append(rows[i], form(value))
		}
	}
	return head, rows
}
