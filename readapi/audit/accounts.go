package audit

import (
	"time"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

type accountsRequest struct {
	Email  string `query:"email" required:"true" minlen:"1" maxlen:"320"`
	Reason string `query:"reason" maxlen:"500" doc:"the reason for the look-up, which is stored in the log"`
}

// foundQuery selects the open accounts by the hash of their owner's e-mail address ($1).
var foundQuery = readapi.From(readmodel.AccountsView, `
	where account_id in (select account_id from `+readmodel.ProfilesView.SQL()+` where email_hash = $1)
	order by opened_at, account_id`, "looking up an e-mail address")

// find returns the accounts of an e-mail address, after the look-up has been recorded.
func (a *API) find(call *web.Call, in accountsRequest) (web.Reply, error) {
	if in.Reason == "" {
		return web.Reply{}, needsReason(call)
	}
	hash, err := a.hashed(call, in.Email)
	if err != nil {
		return web.Reply{}, err
	}
	rows, err := foundQuery.Read(call, a.Models, hash)
	if err != nil {
		return web.Reply{}, err
	}
	response := adminapi.FoundAccounts{Accounts: make([]adminapi.FoundAccount, len(rows))}
	for i, row := range rows {
		response.Accounts[i] = adminapi.FoundAccount{
			AccountID: row.Account, OpenedAt: row.OpenedAt.UTC().Format(time.RFC3339Nano), Plan: string(row.Plan),
		}
	}
	if err := a.Record(call, Query{Of: OfAccounts, EmailHash: hash}, len(response.Accounts), in.Reason); err != nil {
		return web.Reply{}, err
	}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}
