// Package ledger serves the routes that change the usage and credit of accounts.
package ledger

import (
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// API changes ledgers.
type API struct {
	Ledger     *ledger.Ledger
	ReadModels writeapi.ReadModels
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Put("/payments/spending-cap", a.setSpendingCap, web.FreeChange(), web.ReadModels(readmodel.Usage),
			web.Tag("Payments"), web.Summary("Limit the spending past the plan"),
			web.Description("Speech that could cost more than the amount past the plan, in one period, is refused with 402. "+
				"Replies in progress count in full until they have ended. The amount is in minor units of the plan's currency; "+
				"`null` removes the cap, and 0 permits only the plan's characters. It applies immediately, and to all later periods."),
			web.Returns[newSpendingCapResponse](), web.Refuses(400, 409)),
	}
}

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	return []web.Route{
		web.Post("/admin/accounts/{account_id}/credit", a.credit, web.Role("operator"), web.ReadModels(readmodel.Usage),
			web.Tag("Operators"), web.Acts(web.Act{Own: true}),
			web.Summary("Grant an account characters that are spent after its plan's"),
			web.Returns[adminapi.CreditResponse](), web.Refuses(400, 404, 409)),
	}
}

type creditRequest struct {
	AccountID  string `path:"account_id" maxlen:"64"`
	Characters int64  `body:"characters" required:"true" ge:"1" le:"1000000000" doc:"the number of characters to grant"`
	Grant      string `body:"grant" minlen:"1" maxlen:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"an id of the caller's choice: a repetition with it has no effect"`
}

func (a *API) credit(call *web.Call, in creditRequest) (web.Reply, error) {
	granted, err := a.Ledger.GrantCredit(call, in.AccountID, in.Grant, in.Characters, writeapi.Origin(call.Caller))
	response := adminapi.CreditResponse{
		AccountID: in.AccountID, Grant: granted.Grant, Characters: granted.Characters, CreditCharacters: granted.Left,
	}
	return writeapi.Visible(call, a.ReadModels, response, granted.Position, err)
}
