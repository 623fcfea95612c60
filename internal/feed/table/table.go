// Package table describes the tables of read models and writes their rows: operations on rows coalesce over a page, so that
// each row is written once, in at most three statements for each table whatever their number.
package table

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Type is the type of a column.
type Type int

// The types of columns, and what Rows takes for them. A nil is NULL where the column permits it.
const (
	Text        Type = iota + 1 // any string type, or an encoding.TextMarshaler such as uuid.UUID
	Bigint                      // any integer type
	Integer                     // any integer type, within 32 bits
	Bool                        // any bool type
	Timestamptz                 // time.Time, cut to microseconds
	Jsonb                       // json.RawMessage, []byte or string that hold JSON; anything else is marshalled
	Bytea                       // []byte
	Date                        // time.Time, whose year, month and day count
)

// sqlTypes holds the column's type, and the type that its values travel as in an unnested array.
var sqlTypes = map[Type]struct{ column, parameter string }{
	Text:        {"text", "text"},
	Bigint:      {"bigint", "bigint"},
	Integer:     {"integer", "bigint"},
	Bool:        {"boolean", "boolean"},
	Timestamptz: {"timestamptz", "timestamptz"},
	Jsonb:       {"jsonb", "text"},
	Bytea:       {"bytea", "bytea"},
	Date:        {"date", "date"},
}

// Column is a column of a read model's table.
type Column struct {
	Name    string
	Type    Type
	Key     bool   // part of the primary key
	Null    bool   // may be NULL
	Default string // SQL expression, for rows that an operator writes by hand; Rows.Put always gives every value
}

func (c Column) number() bool { return c.Type == Bigint || c.Type == Integer }

// Table is a table of a read model. Its DDL and its write statements come from it.
type Table struct {
	name    string
	columns []Column
	keys    []int // indexes of the key columns
	byName  map[string]int
	indexes []index
}

type index struct {
	name    string
	columns []string
	unique  bool
}

// New describes a table. Check tells what is wrong with it.
func New(name string, columns ...Column) *Table {
	t := &Table{name: name, columns: columns, byName: make(map[string]int, len(columns))}
	for i, c := range columns {
		t.byName[c.Name] = i
		if c.Key {
			t.keys = append(t.keys, i)
		}
	}
	return t
}

// Index adds an index over the columns. It returns the table.
func (t *Table) Index(name string, columns ...string) *Table {
	t.indexes = append(t.indexes, index{name: name, columns: columns})
	return t
}

// Unique adds a unique constraint over the columns, which holds at the end of every page. It returns the table.
func (t *Table) Unique(name string, columns ...string) *Table {
	t.indexes = append(t.indexes, index{name: name, columns: columns, unique: true})
	return t
}

// Name is the table's bare name.
func (t *Table) Name() string { return t.name }

// maxColumns is the width of the mask that tells which columns an update touches.
const maxColumns = 64

// ValidName tells whether a name can be that of a table, a column, a view or a read model: lower case letters, digits and
// underscores, and short enough that the names of schemas and constraints stay within Postgres' 63 bytes.
func ValidName(name string) bool { return identifier.MatchString(name) }

var identifier = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// Check refuses a description that Postgres, or what writes its rows, could not do with.
func (t *Table) Check() error {
	switch {
	case !identifier.MatchString(t.name):
		return fmt.Errorf("table %q: a name is lower case letters, digits and underscores", t.name)
	case len(t.keys) == 0:
		return fmt.Errorf("table %s has no key column", t.name)
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
	return t.checkIndexes()
}

func (c Column) check() error {
	_, known := sqlTypes[c.Type]
	switch {
	case !identifier.MatchString(c.Name):
		return fmt.Errorf("column %q: a name is lower case letters, digits and underscores", c.Name)
	case !known:
		return fmt.Errorf("column %s has no type", c.Name)
	case c.Key && c.Null:
		return fmt.Errorf("column %s is a key and may be NULL", c.Name)
	case c.Key && c.Type == Jsonb:
		return fmt.Errorf("column %s: JSON cannot be a key", c.Name)
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

// DDL is what creates the table and its indexes in a schema.
func (t *Table) DDL(schema string) []string {
	name := quote(schema, t.name)
	lines := make([]string, 0, len(t.columns)+1)
	for _, c := range t.columns {
		line := quote(c.Name) + " " + sqlTypes[c.Type].column
		if !c.Null {
			line += " not null"
		}
		if c.Default != "" {
			line += " default " + c.Default
		}
		lines = append(lines, line)
	}
	lines = append(lines, "primary key ("+strings.Join(quoted(t.keyNames()...), ", ")+")")
	var after []string
	for _, i := range t.indexes {
		columns := strings.Join(quoted(i.columns...), ", ")
		if i.unique {
			// Deferred, so that within a page a value may pass from one row to another in any order.
			lines = append(lines, fmt.Sprintf("constraint %s unique (%s) deferrable initially deferred", i.name, columns))
			continue
		}
		after = append(after, fmt.Sprintf("create index %s on %s (%s)", i.name, name, columns))
	}
	create := fmt.Sprintf("create table %s (\n  %s\n)", name, strings.Join(lines, ",\n  "))
	return slices.Insert(after, 0, create)
}

func (t *Table) keyNames() []string {
	names := make([]string, len(t.keys))
	for i, k := range t.keys {
		names[i] = t.columns[k].Name
	}
	return names
}

// quote makes a qualified SQL name; column names such as "order" are words of SQL.
func quote(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

func quoted(names ...string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = quote(name)
	}
	return all
}
