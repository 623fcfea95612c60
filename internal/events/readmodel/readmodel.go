// Package readmodel names the read models and their views for those who read them. A reader that names something that
// is not here does not compile. What is here is compared with the projections and with the database when recitald
// starts.
package readmodel

import (
	"fmt"
	"slices"
)

// Model is a version of a read model.
type Model struct {
	Name    string
	Version int // from 1
}

func (m Model) String() string { return fmt.Sprintf("%s version %d", m.Name, m.Version) }

// Schema returns the schema of the views of a version.
func Schema(version int) string { return fmt.Sprintf("read_v%d", version) }

// View is what readers select from. It shows the live generation of its read model.
type View struct {
	Model   Model
	Name    string
	Columns []Column
	Select  string // over the tables of the read model by bare name, with an explicit column list
}

// Column is a column of a view.
type Column struct {
	Name string
	Type Type
}

// Type is the type of a column, by the name that Postgres' catalogue has for it.
type Type string

// The types of columns.
const (
	Text        Type = "text"
	Bigint      Type = "bigint"
	Integer     Type = "integer"
	Bool        Type = "boolean"
	Double      Type = "double precision"
	Timestamptz Type = "timestamp with time zone"
	Date        Type = "date"
	Jsonb       Type = "jsonb"
	Bytea       Type = "bytea"
)

// SQL returns the qualified name of the view: read_v1.clips.
func (v View) SQL() string { return Schema(v.Model.Version) + "." + v.Name }

// Column returns the column of a name.
func (v View) Column(name string) (Column, bool) {
	i := slices.IndexFunc(v.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return Column{}, false
	}
	return v.Columns[i], true
}
