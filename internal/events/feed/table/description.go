package table

import (
	"slices"
	"strings"
)

// catalogueType returns the name of the column's type in Postgres' catalogue.
func (c column) catalogueType() string {
	if c.kind == timestamptz {
		return "timestamp with time zone"
	}
	return c.kind.column
}

// Describe returns the canonical description of the table: a line for each column, the key, the constraints and the
// indexes. Tables with equal descriptions hold the same rows, whatever the text of their DDL. The order of the columns
// does not matter, because every statement names them.
func (t *Table) Describe() []string {
	var lines []string
	for _, c := range t.columns {
		line := t.name + ": column " + c.name + " " + c.catalogueType()
		if !c.null {
			line += " not null"
		}
		lines = append(lines, line)
	}
	for _, i := range t.indexes {
		lines = append(lines, i.describe(t.name))
	}
	lines = append(lines, t.name+": primary key ("+strings.Join(t.keyNames(), ", ")+")")
	slices.Sort(lines)
	return lines
}

func (i index) describe(table string) string {
	columns := " (" + strings.Join(i.columns, ", ") + ")"
	if i.unique {
		return table + ": unique " + i.name + columns + " deferrable initially deferred"
	}
	return table + ": index " + i.name + columns
}
