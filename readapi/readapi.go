// Package readapi holds the shared code of its subpackages. Each of them serves the routes of a slice that are pure
// queries of read models. They query the views read_v<n>.* with explicit column lists, so that generations can be
// swapped beneath them.
package readapi

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
)

// Models runs queries of read models.
type Models interface {
	// Read calls row with each row of a query, on a state of the read models that is at least as new as every state that
	// this instance has shown or promised, and returns the log position of that state.
	Read(ctx context.Context, models []readmodel.Model, query string, arguments []any,
		row func(pgx.CollectableRow) error) (position string, err error)
}

// Rows is a query of views. Its rows are structs R, by the position of their columns.
type Rows[R any] struct {
	SQL    string
	Doing  string // for errors
	Models []readmodel.Model
}

// From returns a query of a view; rest is the end of its SQL: "where …".
func From[R any](view readmodel.ViewOf[R], rest, doing string) Rows[R] {
	return Rows[R]{
		"select " + view.Selection("") + " from " + view.SQL() + " " + rest, doing, []readmodel.Model{view.Model},
	}
}

// Read returns the rows, and sends their log position.
func (q Rows[R]) Read(call *web.Call, models Models, arguments ...any) ([]R, error) {
	q.Models = call.Route.ReadModels
	rows, position, err := q.Select(call, models, arguments...)
	if err == nil {
		call.SetPosition(position)
	}
	return rows, err
}

// One returns the only row, and sends its log position. Errors: missing if there is no row.
func (q Rows[R]) One(call *web.Call, models Models, missing error, arguments ...any) (row R, err error) {
	rows, err := q.Read(call, models, arguments...)
	if err != nil {
		return row, err
	}
	if len(rows) == 0 {
		return row, missing
	}
	return rows[0], nil
}

// Cut returns the rows of a page that was read with one row more, and the last one of them if there is a next page.
func Cut[R any](rows []R, limit int) (page []R, last *R) {
	if len(rows) <= limit {
		return rows, nil
	}
	return rows[:limit], &rows[limit-1]
}

// Select returns the rows, and their log position.
func (q Rows[R]) Select(ctx context.Context, models Models, arguments ...any) (rows []R, position string, err error) {
	position, err = models.Read(ctx, q.Models, q.SQL, arguments, func(row pgx.CollectableRow) error {
		one, err := pgx.RowToStructByPos[R](row)
		rows = append(rows, one)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", q.Doing, err)
	}
	return rows, position, nil
}
