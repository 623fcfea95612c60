// Package table describes the tables of read models and writes their rows. Operations on rows coalesce over a page,
// so that each row is written once, with at most three statements per table, however many rows there are.
package table

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Table is the description of a table of a read model. Its DDL and its write statements come from it.
type Table struct {
	name     string
	columns  []column
	keys     []int // indexes of the key columns, which are the first ones
	byName   map[string]int
	indexes  []index
	ranked   []Ranking
	computed []Column     // only of views
	row      reflect.Type // of the rows
	err      error        // the first mistake in the description
}

type index struct {
	name    string
	columns []string
}

// add adds a column.
func (t *Table) add(c column) {
	if c.key {
		t.keys = append(t.keys, len(t.columns))
	}
	t.byName[c.name] = len(t.columns)
	t.columns = append(t.columns, c)
}

func (t *Table) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// Name returns the table's bare name.
func (t *Table) Name() string { return t.name }

// Column is a column of a view of the table.
type Column struct {
	Name       string
	Type       string // its name in Postgres' catalogue
	Expression string // over the table; "" for a column of the table itself
}

// Columns returns the columns of a view of the whole table.
func (t *Table) Columns() []Column {
	columns := make([]Column, len(t.columns), len(t.columns)+len(t.computed))
	for i, c := range t.columns {
		columns[i] = Column{Name: c.name, Type: c.catalogueType()}
	}
	return append(columns, t.computed...)
}

// maxColumns is the width of the mask of the columns that an update touches.
const maxColumns = 64

// ValidName reports whether a name is valid for a table, a column, a view or a read model: lower case letters, digits
// and underscores, and short enough that the names of schemas and constraints stay within Postgres' 63 bytes.
func ValidName(name string) bool { return identifier.MatchString(name) }

var identifier = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// Check returns the first mistake in the description.
func (t *Table) Check() error {
	switch {
	case t.err != nil:
		return fmt.Errorf("table %s: %w", t.name, t.err)
	case !identifier.MatchString(t.name):
		return fmt.Errorf("table %q: a name is lower case letters, digits and underscores", t.name)
	case len(t.keys) == 0:
		return fmt.Errorf("table %s has no key column", t.name)
	case t.keys[len(t.keys)-1] != len(t.keys)-1:
		return fmt.Errorf("table %s: the key columns are not the first ones", t.name)
	case len(t.columns) > maxColumns:
		return fmt.Errorf("table %s has more than %d columns", t.name, maxColumns)
	case len(t.byName) != len(t.columns):
		return fmt.Errorf("table %s has two columns of one name", t.name)
	}
	for _, c := range t.columns {
		if err := c.check(); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	for _, c := range t.computed {
		if c.Expression == "" {
			return fmt.Errorf("table %s: column %s of views has no expression", t.name, c.Name)
		}
	}
	return t.checkIndexes()
}

func (c column) check() error {
	switch {
	case !identifier.MatchString(c.name):
		return fmt.Errorf("column %q: a name is lower case letters, digits and underscores", c.name)
	case c.key && c.null:
		return fmt.Errorf("column %s is a key and may be NULL", c.name)
	case c.key && (c.kind == jsonb || c.kind == double):
		return fmt.Errorf("column %s: a %s cannot be a key", c.name, c.kind.column)
	}
	return nil
}

func (t *Table) checkIndexes() error {
	seen := map[string]bool{}
	for _, i := range t.indexes {
		if !identifier.MatchString(i.name) || seen[i.name] {
			return fmt.Errorf("table %s: index %q has no name of its own", t.name, i.name)
		}
		seen[i.name] = true
		if len(i.columns) == 0 {
			return fmt.Errorf("table %s: index %s has no column", t.name, i.name)
		}
		for _, column := range i.columns {
			if _, known := t.byName[column]; !known {
				return fmt.Errorf("table %s: index %s names the unknown column %q", t.name, i.name, column)
			}
		}
	}
	return nil
}

// DDL returns the statements that create the table and its indexes in a schema.
func (t *Table) DDL(schema string) []string {
	name := quote(schema, t.name)
	lines := make([]string, 0, len(t.columns)+1)
	for _, c := range t.columns {
		line := quote(c.name) + " " + c.kind.column
		if !c.null {
			line += " not null"
		}
		lines = append(lines, line)
	}
	lines = append(lines, "primary key ("+strings.Join(quoted(t.keyNames()...), ", ")+")")
	statements := []string{fmt.Sprintf("create table %s (\n  %s\n)", name, strings.Join(lines, ",\n  "))}
	for _, i := range t.indexes {
		columns := strings.Join(quoted(i.columns...), ", ")
		statements = append(statements, fmt.Sprintf("create index %s on %s (%s)", i.name, name, columns))
	}
	return statements
}

func (t *Table) keyNames() []string {
	names := make([]string, len(t.keys))
	for i, k := range t.keys {
		names[i] = t.columns[k].name
	}
	return names
}

// quote returns a quoted, qualified SQL name, because names such as "order" are words of SQL.
func quote(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

func quoted(names ...string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = quote(name)
	}
	return all
}

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
		lines = append(lines, fmt.Sprintf("%s: index %s (%s)", t.name, i.name, strings.Join(i.columns, ", ")))
	}
	lines = append(lines, t.name+": primary key ("+strings.Join(t.keyNames(), ", ")+")")
	slices.Sort(lines)
	return lines
}
