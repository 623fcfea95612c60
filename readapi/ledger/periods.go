package ledger

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

type usageHistoryItem struct {
	Plan                string `json:"plan" doc:"The plan of the period, such as free."`
	PeriodEnd           int64  `json:"period_end" doc:"When the period ends or ended, in Unix seconds."`
	CharsUsed           int64  `json:"chars_used" ge:"0" doc:"Characters spoken through API keys in the period."`
	PlaygroundCharsUsed int64  `json:"playground_chars_used" ge:"0" default:"0" doc:"Characters spoken in browsers in the period."`
}

// periodsQuery selects the account ($1), its entitlements, and its periods with a use or a grant.
var periodsQuery = `
select ` + readmodel.Columns[accountRow](readmodel.AccountsView.View, "a") + `,
       array(select row(` + readmodel.Columns[entitlementRow](readmodel.EntitlementsView.View, "e") + `)
             from ` + readmodel.EntitlementsView.SQL() + ` e where e.account_id = a.account_id),
       array(select row(` + readmodel.Columns[periodRow](readmodel.UsagePeriodsView, "p") + `)
             from ` + readmodel.UsagePeriodsView.SQL() + ` p where p.account_id = a.account_id)
from ` + readmodel.AccountsView.SQL() + ` a where a.account_id = $1`

type accountRow struct {
	OpenedOn       string    `col:"opened_on"`
	PeriodsFrom    time.Time `col:"periods_from"`
	FreePeriodUsed *int64    `col:"free_period_characters"`
}

type entitlementRow struct {
	Plan   string     `col:"plan"`
	From   time.Time  `col:"entitled_from"`
	Until  *time.Time `col:"entitled_until"`
	Next   *string    `col:"next_plan"`
	Anchor *time.Time `col:"anchor"`
}

type periodRow struct {
	Start      time.Time `col:"period_start"`
	End        time.Time `col:"period_end"`
	Plan       string    `col:"plan"`
	Characters int64     `col:"characters"`
	Playground int64     `col:"playground_characters"`
}

func (a *API) periods(call *web.Call, _ struct{}) (web.Reply, error) {
	var (
		account accountRow
		later   []entitlementRow
		used    []periodRow
		found   bool
	)
	query := readapi.Query{SQL: periodsQuery, Arguments: []any{call.Principal.Account}, Doing: "reading the usage of periods"}
	err := readapi.Read(call, a.Models, query, func(row pgx.CollectableRow) error {
		found = true
		return row.Scan(&account.OpenedOn, &account.PeriodsFrom, &account.FreePeriodUsed, &later, &used)
	})
	if err != nil {
		return web.Reply{}, err
	}
	if !found {
		return web.Reply{}, domain.Refuse(domain.NotFound, "The account does not exist")
	}
	return web.JSON(shown(account.all(later, used, time.Now()))), nil
}

// all returns every period until now, the first one first. A period without a use has no row; one that a closed account
// of the same person has used has none before it is used again.
func (a accountRow) all(later []entitlementRow, used []periodRow, now time.Time) []periodRow {
	slices.SortFunc(used, func(a, b periodRow) int { return a.Start.Compare(b.Start) })
	entitlements := a.entitlements(later)
	var all []periodRow
	next := a.PeriodsFrom
	unused := func(until time.Time) {
		for next.Before(until) {
			row := periodAt(entitlements, next)
			row.Characters = a.broughtInto(row.Start)
			all, next = append(all, row), row.End
		}
	}
	for _, row := range used {
		unused(row.Start)
		all, next = append(all, row), row.End
	}
	if last := entitlements[len(entitlements)-1].Start; now.Before(last) { // by a clock that is behind the provider's
		now = last
	}
	unused(now.Add(1))
	return all
}

// entitlements returns what the account was entitled to, and is, the first one first.
func (a accountRow) entitlements(later []entitlementRow) []plan.Entitlement {
	all := []plan.Entitlement{{Plan: plan.Type(a.OpenedOn), Start: a.PeriodsFrom}}
	slices.SortFunc(later, func(a, b entitlementRow) int { return a.From.Compare(b.From) })
	for _, e := range later {
		all = append(all, readapi.Entitlement(e.Plan, e.From, e.Until, e.Next, e.Anchor))
	}
	return all
}

// periodAt returns the period that begins at a time, without a use. It ends where another entitlement begins.
func periodAt(entitlements []plan.Entitlement, begin time.Time) periodRow {
	i := len(entitlements) - 1
	for i > 0 && entitlements[i].Start.After(begin) {
		i--
	}
	period := entitlements[i].At(begin)
	row := periodRow{Start: begin, End: period.End, Plan: string(period.Plan)}
	if i+1 < len(entitlements) && entitlements[i+1].Start.Before(row.End) {
		row.End = entitlements[i+1].Start
	}
	return row
}

// broughtInto returns what a closed account has used of the period that starts then.
func (a accountRow) broughtInto(start time.Time) int64 {
	if a.FreePeriodUsed == nil || !start.Equal(a.PeriodsFrom) {
		return 0
	}
	return *a.FreePeriodUsed
}

// shown returns periods as they are listed, the last one first.
func shown(periods []periodRow) []usageHistoryItem {
	items := make([]usageHistoryItem, len(periods))
	for i, p := range periods {
		items[len(items)-1-i] = usageHistoryItem{Plan: p.Plan, PeriodEnd: p.End.Unix(), CharsUsed: p.Characters, PlaygroundCharsUsed: p.Playground}
	}
	return items
}
