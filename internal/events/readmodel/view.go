package readmodel

import (
	"strings"

	"github.com/recital-tts/recital/internal/events/feed/table"
)

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
	v := View{Model: m, Name: name}
	list := make([]string, len(columns))
	for i, c := range columns {
		v.Columns = append(v.Columns, Column{c.Name, Type(c.Type)})
		list[i] = c.Name
		if c.Expression != "" {
			list[i] = c.Expression + " as " + c.Name
		}
	}
	v.Select = "select " + strings.Join(list, ", ") + " from " + name
	return v
}

// Where returns a view of the rows that meet a condition.
func (v ViewOf[R]) Where(condition string) ViewOf[R] {
	v.Select += " where " + condition
	return v
}

// RankingView is a view of a ranking.
type RankingView struct {
	View
	table.Ranking
}

// ShowRanking returns the view of a ranking, under its name. What it counts is a column of the given name.
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
