package ledger

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

type usageHistoryItem struct {
	Plan      string `json:"plan" doc:"The plan of the period, such as free."`
	PeriodEnd int64  `json:"period_end" doc:"The end of the period, in Unix seconds."`
	CharsUsed int64  `json:"chars_used" ge:"0" doc:"Characters spoken through API keys in the period."`

	PlaygroundCharsUsed int64 `json:"playground_chars_used" ge:"0" default:"0" doc:"Characters spoken in browsers in it."`
}

// history is an account with its entitlements, and its periods with a use or a grant.
type history struct {
	readmodel.AccountRow
	Entitlements []readmodel.EntitlementRow
	Used         []readmodel.UsagePeriodRow
}

var historyQuery = readapi.Rows[history]{Doing: "reading the usage of periods", SQL: `
	select ` + readmodel.AccountsView.Selection("a") + `,
		` + readmodel.EntitlementsView.Array("e", `where e.account_id = a.account_id`) + `,
		` + readmodel.UsagePeriodsView.Array("p", `where p.account_id = a.account_id`) + `
	from ` + readmodel.AccountsView.SQL() + ` a where a.account_id = $1`}

var errNoAccount = domain.Refuse(domain.NotFound, "The account does not exist")

func (a *API) periods(call *web.Call, _ struct{}) (web.Reply, error) {
	found, err := historyQuery.One(call, a.Models, errNoAccount, call.Principal.Account)
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(shown(found.periods(a.Now()))), nil
}

// periods returns every period until now, earliest first. A period without a use has no row, and neither has a period
// with only the use of a closed account of the same person.
func (h history) periods(now time.Time) []readmodel.UsagePeriodRow {
	slices.SortFunc(h.Used, func(a, b readmodel.UsagePeriodRow) int { return a.Start.Compare(b.Start) })
	entitlements := h.entitlements()
	var all []readmodel.UsagePeriodRow
	next := h.PeriodsFrom
	addUnused := func(until time.Time) {
		for next.Before(until) {
			row := periodAt(entitlements, next)
			row.Characters = h.broughtInto(row.Start)
			all, next = append(all, row), row.End
		}
	}
	for _, row := range h.Used {
		addUnused(row.Start)
		all, next = append(all, row), row.End
	}
	// The payment provider's clock may be ahead.
	if last := entitlements[len(entitlements)-1].Start; now.Before(last) {
		now = last
	}
	addUnused(now.Add(1))
	return all
}

// entitlements returns the entitlements of the account, earliest first.
func (h history) entitlements() []plan.Entitlement {
	all := []plan.Entitlement{{Plan: h.OpenedOn, Start: h.PeriodsFrom}}
	slices.SortFunc(h.Entitlements, func(a, b readmodel.EntitlementRow) int { return a.From.Compare(b.From) })
	for _, e := range h.Entitlements {
		all = append(all, e.Entitlement())
	}
	return all
}

// periodAt returns the unused period that begins at a time. It ends at the start of the next entitlement.
func periodAt(entitlements []plan.Entitlement, begin time.Time) readmodel.UsagePeriodRow {
	i := len(entitlements) - 1
	for i > 0 && entitlements[i].Start.After(begin) {
		i--
	}
	period := entitlements[i].At(begin)
	row := readmodel.UsagePeriodRow{Start: begin, End: period.End, Plan: period.Plan}
	if i+1 < len(entitlements) && entitlements[i+1].Start.Before(row.End) {
		row.End = entitlements[i+1].Start
	}
	return row
}

// broughtInto returns the use by a closed account in the period that starts at a time.
func (h history) broughtInto(start time.Time) int64 {
	if h.FreePeriodUsed == nil || !start.Equal(h.PeriodsFrom) {
		return 0
	}
	return *h.FreePeriodUsed
}

// shown returns the list of periods, latest first.
func shown(periods []readmodel.UsagePeriodRow) []usageHistoryItem {
	items := make([]usageHistoryItem, len(periods))
	for i, p := range periods {
		items[len(items)-1-i] = usageHistoryItem{
			Plan: string(p.Plan), PeriodEnd: p.End.Unix(), CharsUsed: p.Characters, PlaygroundCharsUsed: p.Playground,
		}
	}
	return items
}
