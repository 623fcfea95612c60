package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

var (
	periods   = readmodel.UsagePeriodsView
	used      = periods.Fields("characters", "playground_characters")
	overage   = periods.Fields("overage")
	billed    = periods.Fields("billed_amount")
	credit    = periods.Fields("credit_granted", "credit_carried")
	terms     = periods.Fields("plan", "character_limit", "period_end")
	periodEnd = periods.Fields("period_end")

	credits    = readmodel.CreditPeriods
	creditDue  = credits.Fields("due_at")
	metered    = readmodel.MeteredPeriods
	meteredDue = metered.Fields("due_at")
	overages   = readmodel.Overages
)

// closeAfter is the time until a period is closed, from its end, without an event that ends it. By then the payment
// provider has sent the account's entitlement until the end, or has been asked for it.
const closeAfter = time.Hour

func handlePeriod(event eventlog.Decoded, rows *table.Rows) {
	switch e := event.Event.(type) {
	case ledger.PeriodOpened:
		periods.Put(rows, rowOf(e))
		onTerms(event, rows, e)
	case ledger.TermsChanged:
		terms.Set(rows, rowOf(e.PeriodOpened))
		creditDue.Set(rows, readmodel.PeriodToDoRow{Account: e.Account, Start: e.Start, Due: e.End})
		metered.Delete(rows, readmodel.PeriodToDoRow{Account: e.Account, Start: e.Start})
		overage.Add(rows, readmodel.UsagePeriodRow{Account: e.Account, Start: e.Start, Overage: e.Overage})
		listOverage(event, rows, e.Overage, readmodel.OverageRow{
			Account: e.Account, Start: e.Start, Version: e.Before, Due: e.At,
		})
		onTerms(event, rows, e.PeriodOpened)
	case ledger.Ended:
		ended(rows, e)
	case ledger.Closed:
		metered.Delete(rows, readmodel.PeriodToDoRow{Account: e.Account, Start: e.Start})
		listOverage(event, rows, e.Overage, readmodel.OverageRow{
			Account: e.Account, Start: e.Start, Version: e.Version, Due: e.At,
		})
	case ledger.OverageBilled:
		billed.Add(rows, readmodel.UsagePeriodRow{Account: e.Account, Start: e.Start, Billed: e.Amount})
		overages.Delete(rows, readmodel.OverageRow{Account: e.Account, Start: e.Start, Version: e.Version})
	case ledger.CreditGranted:
		granted(event, rows, e)
	case ledger.CreditCarried:
		// The period stays on the list until the grant in the next period, in case recitald stops in between.
		if e.Characters == 0 {
			credits.Delete(rows, readmodel.PeriodToDoRow{Account: e.Account, Start: e.Start})
		}
	}
}

func rowOf(e ledger.PeriodOpened) readmodel.UsagePeriodRow {
	return readmodel.UsagePeriodRow{Account: e.Account, Start: e.Start, End: e.End, Plan: e.Plan, Limit: e.Limit}
}

func toDo(event eventlog.Decoded, account string, start, due time.Time) readmodel.PeriodToDoRow {
	return readmodel.PeriodToDoRow{
		Account: account, Start: start, Stream: event.Stream, Due: due, Cause: event.ID.String(),
	}
}

// listOverage lists an overage for billing, if there is any.
func listOverage(event eventlog.Decoded, rows *table.Rows, characters int64, row readmodel.OverageRow) {
	if characters > 0 {
		row.Stream, row.Cause = event.Stream, event.ID.String()
		overages.Put(rows, row)
	}
}

// onTerms handles the terms of a period, new or changed.
func onTerms(event eventlog.Decoded, rows *table.Rows, e ledger.PeriodOpened) {
	if e.Version > 0 {
		unfollowed.Delete(rows, readmodel.UnfollowedEntitlementRow{Account: e.Account, Version: e.Version})
	}
	if e.Metered {
		metered.Put(rows, toDo(event, e.Account, e.Start, e.End.Add(closeAfter)))
	}
}

// ended makes the tasks due that wait for the end of a period. They are due regardless of the clock, because the log
// has the end.
func ended(rows *table.Rows, e ledger.Ended) {
	periodEnd.Set(rows, readmodel.UsagePeriodRow{Account: e.Account, Start: e.Start, End: e.End})
	due := readmodel.PeriodToDoRow{Account: e.Account, Start: e.Start, Due: e.At}
	creditDue.Set(rows, due)
	meteredDue.Set(rows, due)
}

func granted(event eventlog.Decoded, rows *table.Rows, e ledger.CreditGranted) {
	credit.Add(rows, readmodel.UsagePeriodRow{Account: e.Account, Start: e.Start, CreditGranted: e.Characters})
	credits.Put(rows, toDo(event, e.Account, e.Start, e.End))
	if e.From != nil {
		credit.Add(rows, readmodel.UsagePeriodRow{Account: e.Account, Start: *e.From, CreditCarried: e.Characters})
		credits.Delete(rows, readmodel.PeriodToDoRow{Account: e.Account, Start: *e.From})
	}
}
