// Package ledger serves the histories of what accounts have used.
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
	Now    func() time.Time // of plans and their periods
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/v1/account/billing_history", a.periods, web.Tag("Account"),
			web.Reads(readmodel.AccountsView.View, readmodel.UsagePeriodsView.View),
			web.Summary("What was used in each period, the current one first"),
			web.Description("One element for each billing period of the account."),
			web.Returns[[]usageHistoryItem](), web.Refuses(404)),
		web.Get("/v1/account/daily_usage_history", a.days, web.Tag("Account"), web.Reads(readmodel.DailyUsageView.View),
			web.Summary("What was used on each of the last 366 days (UTC) with a use, the earliest first"),
			web.Description("Days without a use are left out."), web.Returns[[]dailyUsageHistoryItem]()),
		web.Get("/v1/account/key_usage", a.keys, web.Tag("Account"), web.Reads(readmodel.KeyUsageView.View),
			web.Summary("What was spoken through each API key, the most first"),
			web.Description("Of the last days (UTC); at most 100 keys, revoked ones among them."),
			web.Returns[[]keyUsageItem]()),
		web.Get("/payments/spending-cap", a.spendingCap, web.Tag("Payments"),
			web.Reads(readmodel.SpendingCapsView.View, readmodel.UsagePeriodsView.View),
			web.Summary("The spending cap, and what is spent of it"),
			web.Description("Bounds what characters past the plan cost in a period. Without a cap all fields are null."),
			web.Returns[spendingCapResponse]()),
	}
}
