package ledger

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/readmodel"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/readapi"
)

type usageHistoryItem struct {
	Plan                string `json:"plan"`
	PeriodEnd           int64  `json:"period_end"` // Unix seconds
	CharsUsed           int64  `json:"chars_used" ge:"0"`
	PlaygroundCharsUsed int64  `json:"playground_chars_used" ge:"0" default:"0"`
}

// periodsQuery selects the account ($1) and its periods with a use or a grant.
var periodsQuery = `
select ` + readmodel.Columns[accountRow](readmodel.AccountsView, "a") + `,
       array(select row(` + readmodel.Columns[periodRow](readmodel.UsagePeriodsView, "p") + `)
             from ` + readmodel.UsagePeriodsView.SQL() + ` p where p.account_id = a.account_id)
from ` + readmodel.AccountsView.SQL() + ` a where a.account_id = $1`

type accountRow struct {
	Plan           string    `col:"plan"`
	PeriodsFrom    time.Time `col:"periods_from"`
	FreePeriodUsed *int64    `col:"free_period_characters"`
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
		used    []periodRow
		found   bool
	)
	query := readapi.Query{SQL: periodsQuery, Arguments: []any{call.Principal.Account}, Doing: "reading the usage of periods"}
	err := readapi.Read(call, a.Models, query, func(row pgx.CollectableRow) error {
		found = true
		return row.Scan(&account.Plan, &account.PeriodsFrom, &account.FreePeriodUsed, &used)
	})
	if err != nil {
		return web.Reply{}, err
	}
	if !found {
		return web.Reply{}, domain.Refuse(domain.NotFound, "The account does not exist")
	}
	return web.JSON(shown(account.all(used, time.Now()))), nil
}

// all returns every period until now, the first one first. A period without a use has no row; one that a closed account of
// the same person has used has none before it is used again.
func (a accountRow) all(used []periodRow, now time.Time) []periodRow {
	slices.SortFunc(used, func(a, b periodRow) int { return a.Start.Compare(b.Start) })
	var all []periodRow
	next := a.PeriodsFrom
	unused := func(until time.Time) {
		for next.Before(until) {
			_, end := plan.MonthlyPeriod(a.PeriodsFrom, next)
			all = append(all, periodRow{Start: next, End: end, Plan: a.Plan, Characters: a.broughtInto(next)})
			next = end
		}
	}
	for _, row := range used {
		unused(row.Start)
		all, next = append(all, row), row.End
	}
	unused(now.Add(1))
	return all
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
