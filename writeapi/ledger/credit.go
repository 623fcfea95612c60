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

// Routes are the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Put("/payments/spending-cap", a.setSpendingCap, web.ReadModels(readmodel.Usage), web.Tag("Payments"),
			web.Summary("Bound what is spent past the plan"),
			web.Description("Speech that could cost more than the amount past the plan, in one period, is refused with 402. "+
				"Replies in progress count in full until they have ended. The amount is in minor units of the plan's currency; "+
				"`null` takes the cap away, and 0 permits what the plan includes. It holds at once, and for all later periods."),
			web.Returns[newSpendingCapResponse](), web.Refuses(400, 409)),
	}
}

// AdminRoutes are the rows for the admin route table.
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
	Characters int64  `body:"characters" required:"true" ge:"1" le:"1000000000" doc:"how many characters to grant"`
	Grant      string `body:"grant" minlen:"1" maxlen:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"an id of the caller's choice: a repetition with it grants nothing more"`
}

func (a *API) credit(call *web.Call, in creditRequest) (web.Reply, error) {
	granted, err := a.Ledger.GrantCredit(call, in.AccountID, in.Grant, in.Characters, writeapi.Origin(call.Caller))
	if err != nil {
		return web.Reply{}, err
	}
	writeapi.AwaitVisible(call, a.ReadModels, granted.Position)
	return web.JSON(adminapi.CreditResponse{
		AccountID: in.AccountID, Grant: granted.Grant, Characters: granted.Characters, CreditCharacters: granted.Left,
	}), nil
}
