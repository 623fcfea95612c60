// Package ledger serves the usage histories of accounts.
package ledger

import (
	"time"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// API serves the histories from the read models.
type API struct {
	Models readapi.Models
	Now    func() time.Time // selects plans and their periods
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/v1/account/billing_history", a.periods, web.Tag("Account"),
			web.Reads(readmodel.AccountsView.View, readmodel.UsagePeriodsView.View),
			web.Summary("The usage of each period, the current one first"),
			web.Description("One element for each billing period of the account."),
			web.Returns[[]usageHistoryItem](), web.Refuses(404)),
		web.Get("/v1/account/daily_usage_history", a.days, web.Tag("Account"), web.Reads(readmodel.DailyUsageView.View),
			web.Summary("The usage of the last 366 days (UTC), earliest first"),
			web.Description("Days without a use are left out."), web.Returns[[]dailyUsageHistoryItem]()),
		web.Get("/v1/account/key_usage", a.keys, web.Tag("Account"), web.Reads(readmodel.KeyUsageView.View),
			web.Summary("The usage of each API key, highest first"),
			web.Description("In the last days (UTC); at most 100 keys, including revoked ones."),
			web.Returns[[]keyUsageItem]()),
		web.Get("/payments/spending-cap", a.spendingCap, web.Tag("Payments"),
			web.Reads(readmodel.SpendingCapsView.View, readmodel.UsagePeriodsView.View),
			web.Summary("The spending cap, and the spending under it"),
			web.Description("Bounds the cost of characters past the plan in a period. Without a cap all fields are null."),
			web.Returns[spendingCapResponse]()),
	}
}
