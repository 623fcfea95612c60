package accounts

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	return []web.Route{
		web.Get("/admin/accounts/list", a.list, web.Role("operator", "auditor"), web.Tag("Operators"), web.Reads(readmodel.AccountsView),
			web.Summary("The accounts that are open, the oldest first"), web.Description("Without personal data."), web.Returns[accountsPage]()),
	}
}

type listRequest struct {
	Limit int    `query:"limit" default:"100" ge:"1" le:"1000"`
	Page  string `query:"page_token" maxlen:"64" doc:"next_page_token of the page before"`
}

type accountsPage struct {
	Accounts []listedAccount `json:"accounts"`
	Next     *string         `json:"next_page_token"` // null: this is the last page
}

type listedAccount struct {
	AccountID  string `json:"account_id"`
	OpenedAt   string `json:"opened_at"` // RFC 3339
	Plan       string `json:"plan"`      // now
	Subscribed bool   `json:"subscribed"`
	Operator   bool   `json:"operator"`
}

type listedRow struct {
	Account    string     `col:"account_id"`
	OpenedAt   time.Time  `col:"opened_at"`
	Plan       string     `col:"plan"`
	From       time.Time  `col:"entitled_from"`
	Until      *time.Time `col:"entitled_until"`
	Next       *string    `col:"next_plan"`
	Anchor     *time.Time `col:"anchor"`
	Subscribed bool       `col:"subscribed"`
	Operator   bool       `col:"operator"`
}

// listQuery selects a page ($2 accounts) after an account ($1). Ids are in the order in which they were drawn.
var listQuery = `select ` + readmodel.Columns[listedRow](readmodel.AccountsView, "a") + ` from ` + readmodel.AccountsView.SQL() + ` a
	where a.account_id > $1 order by a.account_id limit $2`

// list answers with a page. One account more is read, which shows whether there is another page.
func (a *API) list(call *web.Call, in listRequest) (web.Reply, error) {
	page, now := accountsPage{Accounts: []listedAccount{}}, time.Now()
	query := readapi.Query{SQL: listQuery, Arguments: []any{in.Page, in.Limit + 1}, Doing: "listing accounts"}
	err := readapi.Read(call, a.Models, query, func(row pgx.CollectableRow) error {
		one, err := pgx.RowToStructByPos[listedRow](row)
		page.Accounts = append(page.Accounts, listedAccount{
			AccountID: one.Account, OpenedAt: one.OpenedAt.UTC().Format(time.RFC3339Nano), Subscribed: one.Subscribed, Operator: one.Operator,
			Plan: string(readapi.Entitlement(one.Plan, one.From, one.Until, one.Next, one.Anchor).At(now).Plan),
		})
		return err
	})
	if err != nil {
		return web.Reply{}, err
	}
	if len(page.Accounts) > in.Limit {
		page.Accounts = page.Accounts[:in.Limit]
		page.Next = &page.Accounts[in.Limit-1].AccountID
	}
	return web.JSON(page).WithHeader("Cache-Control", "no-store"), nil
}
