// Package readapi serves the routes that are a pure query over the read models. It reads the views read_v1.* with
// explicit column lists, so that generations can be swapped beneath it.
package readapi

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/internal/web"
)

// API answers from the read models in a database.
type API struct {
	Pool *pgxpool.Pool
}

// Routes are the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/v1/account", a.account, web.Tag("Account"), web.Summary("Plan, usage and API keys of the account")),
	}
}
