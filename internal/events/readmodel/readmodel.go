// Package readmodel declares the read models and their views for readers, so that a reader of an undeclared view does
// not compile. When recitald starts, the declarations are compared with the projections and with the database.
package readmodel

import (
	"fmt"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/events/feed/table"
)

// Model is a version of a read model.
type Model struct {
	Name    string
	Version int // from 1
}

func (m Model) String() string { return fmt.Sprintf("%s version %d", m.Name, m.Version) }

// Schema returns the schema of the views of a version.
func Schema(version int) string { return fmt.Sprintf("read_v%d", version) }

// View is a view for readers. It shows the live generation of its read model.
type View struct {
	Model   Model
	Name    string
	Columns []table.Column
	Select  string // over the tables of the read model by bare name, with an explicit column list
}

// SQL returns the qualified name of the view: read_v1.clips.
func (v View) SQL() string { return Schema(v.Model.Version) + "." + v.Name }

// ViewOf is a view of rows of the struct R, and the table that it shows. Both follow from R: see table.Typed.
type ViewOf[R any] struct {
	View
	table.Typed[R]
}

// Show returns the view of a table, under its name.
func Show[R any](m Model, t table.Typed[R]) ViewOf[R] {
	return ViewOf[R]{show(m, t.Name(), t.Columns()), t}
}

func show(m Model, name string, columns []table.Column) View {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.Name
		if c.Expression != "" {
			list[i] = c.Expression + " as " + c.Name
		}
	}
	return View{Model: m, Name: name, Columns: columns, Select: "select " + strings.Join(list, ", ") + " from " + name}
}

// Where returns a view of the rows that satisfy a condition.
func (v ViewOf[R]) Where(condition string) ViewOf[R] {
	v.Select += " where " + condition
	return v
}

// RankingView is a view of a ranking.
type RankingView struct {
	View
	table.Ranking
}

// ShowRanking returns the view of a ranking, under its name. The counted number is a column of the given name.
func ShowRanking(m Model, r table.Ranking, counted string) RankingView {
	columns := r.Columns()
	numbers := &columns[len(columns)-1]
	numbers.Name, numbers.Expression = counted, numbers.Name
	return RankingView{show(m, r.Table.Name(), columns), r}
}

// Selection returns the columns of the view as a select list, each qualified by the alias of the view, unless that is
// empty.
func (v View) Selection(alias string) string {
	if alias != "" {
		alias += "."
	}
	names := make([]string, len(v.Columns))
	for i, c := range v.Columns {
		names[i] = alias + c.Name
	}
	return strings.Join(names, ", ")
}

// Array returns an expression for an array of the view's rows under an alias, which the rest of a query selects: "where
// …".
func (v View) Array(alias, rest string) string {
	return "array(select row(" + v.Selection(alias) + ") from " + v.SQL() + " " + alias + " " + rest + ")"
}

// ToDoRow is an item of a to-do list.
type ToDoRow struct {
	Item   string    `col:"item,key"`
	Stream string    `col:"stream"`
	Due    time.Time `col:"due_at"`
	Cause  string    `col:"cause"` // id of an event or a command
}

// ToDo is a to-do list.
type ToDo = ViewOf[ToDoRow]

// NewToDo returns a to-do list with a table of its own.
func NewToDo(m Model, name string) ToDo {
	return Show(m, table.Of[ToDoRow](name).Index(name+"_due", "due_at"))
}

// ToDoFrom returns a to-do list from a query of other tables.
func ToDoFrom(m Model, name, query string) ToDo {
	return ToDo{View: View{Model: m, Name: name, Columns: table.Of[ToDoRow](name).Columns(), Select: query}}
}
