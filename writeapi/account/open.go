// Package account serves the routes that change accounts.
package account

import (
	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/writeapi"
)

// API changes accounts.
type API struct {
	Accounts   *commands.Accounts
	Ledger     *commands.Ledger // of the admin routes
	ReadModels commands.ReadModels
}

// AdminRoutes are the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	return []web.Route{
		web.Post("/admin/accounts", a.open, web.Role("operator"), web.ReadModels("account"),
			web.Tag("Operators"), web.Summary("Open an account and give it an API key"),
			web.Returns[openResponse](web.Sends("cache-control"))),
		web.Post("/admin/accounts/{account_id}/credit", a.credit, web.Role("operator"), web.ReadModels("usage"),
			web.Tag("Operators"), web.Summary("Grant an account characters that are spent after its plan's"),
			web.Returns[creditResponse](), web.Refuses(400, 404, 409)),
	}
}

type openRequest struct {
	Plan string `body:"plan" default:"free" literal:"free,indie,pro,premium,enterprise"`
}

type openResponse struct {
	AccountID string `json:"account_id"`
	Plan      string `json:"plan"`
	APIKey    string `json:"apikey"` // shown here only
	Masked    string `json:"masked"`
}

func (a *API) open(call *web.Call, in openRequest) (web.Reply, error) {
	opened, err := a.Accounts.Open(call, in.Plan, eventlog.Actor{Kind: eventlog.ActorOperator})
	if err != nil {
		return web.Reply{}, err
	}
	writeapi.AwaitVisible(call, a.ReadModels, opened.Key.Position)
	response := openResponse{AccountID: opened.Account, Plan: in.Plan, APIKey: opened.Key.Key, Masked: opened.Key.Masked}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}
