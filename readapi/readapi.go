// Package readapi serves the routes that are a pure query over the read models. It reads the views read_v<n>.* with
// explicit column lists, so that generations can be swapped beneath it.
package readapi

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/web"
)

// API answers from the read models in a database.
type API struct {
	Pool *pgxpool.Pool
}

// Routes are the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/v1/account", a.account, web.ReadModels("account", "usage"), web.Tag("Account"), web.Summary("Plan, usage and API keys of the account"),
			web.Returns[accountResponse](), web.Refuses(404)),
	}
}

var errUnavailable = domain.Refuse(domain.Unavailable, "The read models do not answer")

// failed says what was being done when a query failed. A database that does not answer, or is about to end or to start,
// is no fault of the query: the client is told to come again.
func failed(ctx context.Context, doing string, err error) error {
	answer := new(pgconn.PgError)
	answered := errors.As(err, &answer) && !strings.HasPrefix(answer.Code, "57P") // operator intervention
	if answered || ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, errors.Join(err, errUnavailable))
}
