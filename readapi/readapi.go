// Package readapi holds what its subpackages share. Each of them serves the routes of a slice that are pure queries
// of read models. They query the views read_v<n>.* with explicit column lists, so that generations can be swapped
// beneath them.
package readapi

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/readmodel"
	"github.com/recital-tts/recital/internal/web"
)

// Models runs queries of read models.
type Models interface {
	// Read calls row with each row of a query, on a state of the read models that is never older than one that this instance
	// has shown or promised, and returns the position in the log that it shows.
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
	position, err := models.Read(call, call.Route.ReadModels, q.SQL, q.Arguments, row)
	if err != nil {
		return queryError(call, q.Doing, err)
	}
	call.SetPosition(position)
	return nil
}

var errUnavailable = domain.Refuse(domain.Unavailable, "The read models do not answer")

// queryError wraps the error of a query with what was being done. Without an answer of the database, or when the database
// is about to stop or start, the client should try again: such an error refuses with domain.Unavailable.
func queryError(ctx context.Context, doing string, err error) error {
	answer := new(pgconn.PgError)
	answered := errors.As(err, &answer) && !strings.HasPrefix(answer.Code, "57P") // operator intervention
	if answered || ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, errors.Join(err, errUnavailable))
}
