package accounts

import (
	"time"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	return []web.Route{
		web.Get("/admin/accounts/list", a.list, web.Role("operator", "auditor"), web.Tag("Operators"),
			web.Reads(readmodel.AccountsView.View),
			web.Summary("The open accounts, oldest first"), web.Description("Without personal data."),
			web.Returns[adminapi.AccountsPage]()),
	}
}

type listRequest struct {
	Limit int    `query:"limit" default:"100" ge:"1" le:"1000"`
	Page  string `query:"page_token" maxlen:"64" doc:"next_page_token of the previous page"`
}

// listed selects a page ($2 accounts) after an account ($1). Ids sort by the time of their creation.
var listed = readapi.From(readmodel.AccountsView, `where account_id > $1 order by account_id limit $2`,
	"listing accounts")

// list returns a page. It reads one account more, which shows whether there is another page.
func (a *API) list(call *web.Call, in listRequest) (web.Reply, error) {
	rows, err := listed.Read(call, a.Models, in.Page, in.Limit+1)
	if err != nil {
		return web.Reply{}, err
	}
	page, now := adminapi.AccountsPage{Accounts: []adminapi.ListedAccount{}}, a.Now()
	rows, last := readapi.Cut(rows, in.Limit)
	if last != nil {
		page.Next = &last.Account
	}
	for _, row := range rows {
		page.Accounts = append(page.Accounts, adminapi.ListedAccount{
			AccountID: row.Account, OpenedAt: row.OpenedAt.UTC().Format(time.RFC3339Nano),
			Plan: string(row.Entitlement().At(now).Plan), Subscribed: row.Subscribed, Operator: row.Operator,
		})
	}
	return web.JSON(page).WithHeader("Cache-Control", "no-store"), nil
}
