// Package readapi holds what its subpackages share. Each of them serves the routes of a slice that are pure queries
// of read models. They query the views read_v<n>.* with explicit column lists, so that generations can be swapped
// beneath them.
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
	// Read calls row with each row of a query, on a state of the read models that is never older than one that this
	// instance has shown or promised, and returns the position in the log that it shows.
	Read(ctx context.Context, models []readmodel.Model, query string, arguments []any, row func(pgx.CollectableRow) error) (position string, err error)
}

// Query is one query of the views that a route declares.
type Query struct {
	SQL       string
	Arguments []any
	Doing     string // for errors
}

// Read calls row with each row of a query, and sends the position that they show.
func Read(call *web.Call, models Models, q Query, row func(pgx.CollectableRow) error) error {
	position, err := Select(call, models, call.Route.ReadModels, q, row)
	if err != nil {
		return err
	}
	call.SetPosition(position)
	return nil
}

// Select calls row with each row of a query of read models, and returns the position that they show.
func Select(ctx context.Context, models Models, of []readmodel.Model, q Query, row func(pgx.CollectableRow) error) (string, error) {
	position, err := models.Read(ctx, of, q.SQL, q.Arguments, row)
	if err != nil {
		return "", fmt.Errorf("%s: %w", q.Doing, err)
	}
	return position, nil
}
