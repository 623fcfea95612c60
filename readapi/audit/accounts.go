package audit

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

type accountsRequest struct {
	Email  string `query:"email" required:"true" minlen:"1" maxlen:"320"`
	Reason string `query:"reason" maxlen:"500" doc:"why the address is looked up; it stays in the log"`
}

type foundAccounts struct {
	Accounts []foundAccount `json:"accounts"`
}

type foundAccount struct {
	AccountID string `json:"account_id"`
	OpenedAt  string `json:"opened_at"` // RFC 3339
	Plan      string `json:"plan"`      // from the last entitlement on
}

type accountRow struct {
	Account  string    `col:"account_id"`
	OpenedAt time.Time `col:"opened_at"`
	Plan     string    `col:"plan"`
}

// foundQuery selects the open accounts whose owner has an e-mail address of a hash ($1).
var foundQuery = `select ` + readmodel.Columns[accountRow](readmodel.AccountsView.View, "a") + ` from ` + readmodel.AccountsView.SQL() + ` a
	where a.account_id in (` + ownedQuery + `) order by a.opened_at, a.account_id`

// find answers with the accounts of an e-mail address, after it was recorded who asks.
func (a *API) find(call *web.Call, in accountsRequest) (web.Reply, error) {
	if in.Reason == "" {
		return web.Reply{}, needsReason(call)
	}
	hash, err := a.hashed(call, in.Email)
	if err != nil {
		return web.Reply{}, err
	}
	response := foundAccounts{Accounts: []foundAccount{}}
	query := readapi.Query{SQL: foundQuery, Arguments: []any{hash}, Doing: "looking an e-mail address up"}
	err = readapi.Read(call, a.Models, query, func(row pgx.CollectableRow) error {
		one, err := pgx.RowToStructByPos[accountRow](row)
		response.Accounts = append(response.Accounts, foundAccount{one.Account, one.OpenedAt.UTC().Format(time.RFC3339Nano), one.Plan})
		return err
	})
	if err != nil {
		return web.Reply{}, err
	}
	if err := a.Record(call, Query{Of: OfAccounts, EmailHash: hash}, len(response.Accounts), in.Reason); err != nil {
		return web.Reply{}, err
	}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}
