package table

import (
	"slices"
	"strings"
)

// catalogueTypes holds the names by which Postgres' catalogue calls types that have another name in DDL.
var catalogueTypes = map[kind]string{timestamptz: "timestamp with time zone"}

// Describe returns the canonical description of the table: a line for each column, the key, the constraints and the
// indexes. Tables with equal descriptions hold the same rows, whatever the text of their DDL. The order of the columns
// does not matter, because every statement names them.
func (t *Table) Describe() []string {
	var lines []string
	for _, c := range t.columns {
		typeName, ok := catalogueTypes[c.kind]
		if !ok {
			typeName = c.kind.column
		}
		lines = append(lines, DescribeColumn(t.name, c.name, typeName, !c.null))
	}
	for _, i := range t.indexes {
		lines = append(lines, i.describe(t.name))
	}
	lines = append(lines, t.name+": primary key ("+strings.Join(t.keyNames(), ", ")+")")
	slices.Sort(lines)
	return lines
}

// DescribeColumn returns the line of a column in a description.
func DescribeColumn(table, name, typeName string, notNull bool) string {
	line := table + ": column " + name + " " + typeName
	if notNull {
		line += " not null"
	}
	return line
}

func (i index) describe(table string) string {
	columns := " (" + strings.Join(i.columns, ", ") + ")"
	if i.unique {
		return table + ": unique " + i.name + columns + " deferrable initially deferred"
	}
	return table + ": index " + i.name + columns
}
