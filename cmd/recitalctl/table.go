package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	lineWidth = 120 // of tables, in characters
	columnGap = 2
)

// printTable prints rows in aligned columns. Without --wide, the widest columns are made narrower until a line fits, and their cells
// wrap.
func printTable(to terminal, rows [][]string) error {
	widths := columnWidths(rows, to.wide)
	for _, row := range rows {
		if err := printRow(to, row, widths); err != nil {
			return err
		}
	}
	return nil
}

// printRow prints the cells of a row, of which each wraps within the width of its column.
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

// columnWidths returns the widths of columns in characters. Words, such as ids, are broken only where nothing else fits.
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

// widestWithRoom returns the widest column that is wider than its longest word, or the widest one if none is.
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

// wrap breaks a text between words where that is possible. Every part has at most width characters.
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
