package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
)

// format is the output format: a table for people, JSON or CSV for programs.
type format string

const (
	table     format = "table"
	jsonValue format = "json"
	csvRows   format = "csv"
)

// valueForm is the flag of commands that print one value.
type valueForm struct {
	Format format `default:"table" enum:"table,json" help:"Form of the result: table or json."`
}

// listForm is the flag of commands that print a list.
type listForm struct {
	Format format `default:"table" enum:"table,json,csv" help:"Form of the result: table, json or csv."`
}

// show prints a value as JSON, or its rows as a table or as CSV. The fields of a row are its columns, with the names
// that they have in JSON, or others by the tag col, see package adminapi.
func show[T any](f format, to terminal, value any, rows []T) error {
	if f == jsonValue {
		return f.print(to, value, nil, nil)
	}
	return newPrinter[T](f, to).print(rows...)
}

// showOne is like show for a value that is its only row: the reply to a request, whose error it returns.
func showOne[T any](f format, to terminal, value T, err error) error {
	if err != nil {
		return err
	}
	return show(f, to, value, []T{value})
}

// showList is like show for the reply to a request, whose error it returns.
func showList[T any](f format, to terminal, reply any, rows []T, err error) error {
	if err != nil {
		return err
	}
	return show(f, to, reply, rows)
}

// print writes value as JSON, or the rows below head as a table.
func (f format) print(to terminal, value any, head []string, rows [][]string) error {
	if f != jsonValue {
		return printTable(to, append([][]string{head}, inOneLine(rows)...))
	}
	encoder := json.NewEncoder(to.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// printer prints rows as they arrive: as a table, with columns aligned within each call, as CSV, or as a JSON object
// per line.
type printer[T any] struct {
	format  format
	to      terminal
	columns []column
	widths  []int // fixed widths of the first columns
	begun   bool
}

func newPrinter[T any](f format, to terminal, widths ...int) *printer[T] {
	return &printer[T]{format: f, to: to, columns: columnsOf(reflect.TypeFor[T](), f, to.wide), widths: widths}
}

func (p *printer[T]) print(rows ...T) error {
	if p.format == jsonValue {
		return p.printObjects(rows)
	}
	cells := cellsOf(p.format, p.columns, rows)
	if !p.begun {
		var head []string
		for _, c := range p.columns {
			head = append(head, c.title(p.format))
		}
		cells = append([][]string{head}, cells...)
	}
	p.begun = true
	if p.format == csvRows {
		return csv.NewWriter(p.to.out).WriteAll(inOneLine(cells))
	}
	return printTable(p.to, inOneLine(cells), p.widths...)
}

func (p *printer[T]) printObjects(rows []T) error {
	lines := json.NewEncoder(p.to.out)
	lines.SetEscapeHTML(false)
	for _, row := range rows {
		if err := lines.Encode(row); err != nil {
			return err
		}
	}
	return nil
}

// inOneLine makes cells printable, so that text from a server cannot break rows and columns.
func inOneLine(rows [][]string) [][]string {
	all := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			all[i] = append(all[i], printable(cell))
		}
	}
	return all
}

// column is a field of a row.
type column struct {
	name  string
	index []int
	form  string // for people, see package adminapi
}

func (c column) title(f format) string {
	if f != table {
		return c.name
	}
	return strings.ToUpper(strings.ReplaceAll(c.name, "_", " "))
}

// columnsOf returns the columns of a row type. It includes the columns of embedded structs and of those with the tag
// "*".
func columnsOf(of reflect.Type, f format, wide bool) (columns []column) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, rest, _ := strings.Cut(field.Tag.Get("col"), ",")
		options := strings.Split(rest, ",")
		isWide, forPrograms := slices.Contains(options, "wide"), slices.Contains(options, "programs")
		if name == "-" || f == table && (forPrograms || isWide && !wide) {
			continue
		}
		if field.Anonymous || name == "*" {
			for _, inner := range columnsOf(field.Type, f, wide) {
				columns = append(columns, column{inner.name, append([]int{i}, inner.index...), inner.form})
			}
			continue
		}
		if name == "" {
			name, _, _ = strings.Cut(field.Tag.Get("json"), ",")
		}
		columns = append(columns, column{name, []int{i}, options[len(options)-1]})
	}
	return columns
}

func cellsOf[T any](f format, columns []column, rows []T) [][]string {
	cells := make([][]string, len(rows))
	for i, row := range rows {
		for _, c := range columns {
			cells[i] = append(cells[i], cellOf(reflect.ValueOf(row).FieldByIndex(c.index), c.form, f == table))
		}
	}
	return cells
}

// celled is a value that is printed differently for people and for programs.
type celled interface{ cell(people bool) string }

func cellOf(value reflect.Value, form string, people bool) string {
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return ""
		}
		value = value.Elem()
	}
	if text, known := inForm(value, form); people && known {
		return text
	}
	switch v := value.Interface().(type) {
	case celled:
		return v.cell(people)
	case time.Time:
		return v.Format(time.RFC3339)
	case json.RawMessage:
		return string(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case map[string]string:
		var fields []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, name+"="+v[name])
		}
		return strings.Join(fields, "; ")
	}
	if value.Kind() != reflect.Slice {
		return fmt.Sprint(value)
	}
	var words []string
	for i := range value.Len() {
		words = append(words, fmt.Sprint(value.Index(i)))
	}
	return strings.Join(words, " ")
}

// inForm returns a value in a form, or false if it has none. Besides those of package adminapi there are span for
// seconds, and count and bytes for integers.
func inForm(value reflect.Value, form string) (text string, known bool) {
	switch form {
	case "time":
		seconds := value.Convert(reflect.TypeFor[float64]()).Float()
		return local(time.UnixMilli(int64(seconds * 1000))), true
	case "local":
		at, err := time.Parse(time.RFC3339Nano, value.String())
		return local(at), err == nil
	case "figure":
		return strconv.FormatFloat(value.Float(), 'f', 2, 64), true
	case "none":
		return "none", value.Len() == 0
	case "span":
		return progress.Span(time.Duration(value.Float() * float64(time.Second))), true
	case "count":
		return progress.Count(value.Int()), true
	case "bytes":
		return inBytes(value.Int()), true
	}
	return "", false
}

// either is a cell with a text for each.
type either struct{ people, programs string }

func (e either) cell(people bool) string {
	if people {
		return e.people
	}
	return e.programs
}

// inBytes formats a size for people.
func inBytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n), 0
	for size >= 1<<10 && unit < 4 {
		size, unit = size/(1<<10), unit+1
	}
	return fmt.Sprintf("%.1f %ciB", size, " KMGT"[unit])
}

const (
	lineWidth = 120 // of tables, in characters
	columnGap = 2
)

// printTable prints rows in aligned columns. Without --wide, it narrows the widest columns until lines fit, and wraps
// their cells. fixed has the widths of the first columns.
func printTable(to terminal, rows [][]string, fixed ...int) error {
	widths := columnWidths(rows, to.wide)
	for i, width := range fixed {
		if to.wide {
			width = max(width, widths[i])
		}
		widths[i] = width
	}
	for _, row := range rows {
		if err := printRow(to, row, widths); err != nil {
			return err
		}
	}
	return nil
}

// printRow prints a row, with each cell wrapped to the width of its column.
func printRow(to terminal, row []string, widths []int) error {
	cells, height := make([][]string, len(row)), 1
	for i, cell := range row {
		cells[i] = wrap(cell, widths[i])
		height = max(height, len(cells[i]))
	}
	for n := range height {
		if _, err := fmt.Fprintln(to.out, tableLine(cells, widths, n)); err != nil {
			return err
		}
	}
	return nil
}

// columnWidths returns the widths of columns in characters. Words, such as ids, are only broken if lines do not fit
// otherwise.
func columnWidths(rows [][]string, wide bool) (widths []int) {
	var words []int // the longest word of each column
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths, words = append(widths, 1), append(words, 1)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			for word := range strings.SplitSeq(cell, " ") {
				words[i] = max(words[i], utf8.RuneCountInString(word))
			}
		}
	}
	total := columnGap * (len(widths) - 1)
	for _, width := range widths {
		total += width
	}
	for ; total > lineWidth && !wide; total-- {
		widths[widestWithRoom(widths, words)]--
	}
	return widths
}

// widestWithRoom returns the widest column that is wider than its longest word, or the widest of all if there is none.
func widestWithRoom(widths, words []int) int {
	room := make([]int, len(widths))
	for i := range widths {
		if widths[i] > words[i] {
			room[i] = widths[i]
		}
	}
	if slices.Max(room) == 0 {
		room = widths
	}
	return slices.Index(room, slices.Max(room))
}

// wrap breaks a text into parts of at most width characters, between words if possible.
func wrap(text string, width int) (parts []string) {
	rest := []rune(text)
	for len(rest) > width {
		end := width
		for end > 0 && rest[end] != ' ' {
			end--
		}
		if end == 0 {
			end = width
		}
		parts = append(parts, string(rest[:end]))
		rest = []rune(strings.TrimLeft(string(rest[end:]), " "))
	}
	return append(parts, string(rest))
}

// tableLine returns the nth line of a row.
func tableLine(cells [][]string, widths []int, n int) string {
	var line strings.Builder
	for i, lines := range cells {
		part := ""
		if n < len(lines) {
			part = lines[n]
		}
		fmt.Fprintf(&line, "%-*s", widths[i]+columnGap, part)
	}
	return strings.TrimRight(line.String(), " ")
}
