package ledger

import (
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

type spendingCapRequest struct {
	Amount *int64 `body:"amount" required:"true" nullable:"true" ge:"0" le:"1000000000" doc:"The maximum price of characters past the plan in a period, in minor units of the plan's currency; null for no cap." example:"5000"`
}

type newSpendingCapResponse struct {
	Amount   *int64  `json:"amount" doc:"The cap, in minor units of the currency, or null."`
	Currency *string `json:"currency" doc:"The currency of the cap, in the three letters of ISO 4217, in lower case."`
}

func (a *API) setSpendingCap(call *web.Call, in spendingCapRequest) (web.Reply, error) {
	set, err := a.Ledger.SetSpendingCap(call, call.Principal.Account, in.Amount, writeapi.Origin(call.Caller))
	response := newSpendingCapResponse{Amount: set.Amount}
	if set.Amount != nil {
		response.Currency = &set.Currency
	}
	return writeapi.Visible(call, a.ReadModels, response, set.Position, err)
}
