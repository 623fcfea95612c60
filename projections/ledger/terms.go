package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// entitlementRow is an entitlement that no period follows yet: a row behind toDoFollowEntitlement.
type entitlementRow struct {
	Account string    `col:"account_id,key"`
	Version int64     `col:"version,key"`
	Since   time.Time `col:"since"`
	Cause   string    `col:"cause"`
}

func newEntitlements() table.Typed[entitlementRow] {
	return table.Of[entitlementRow]("entitlements").Index("entitlements_since", "since")
}

const toDoFollowEntitlement = `select account_id as item, 'account-' || account_id as stream, since as due_at, cause from entitlements`

// entitled lists an entitlement in place of the one before, until a period has its terms.
func (u usage) entitled(rows *table.Rows, event eventlog.Decoded, e account.Entitled) {
	u.entitlements.Delete(rows, entitlementRow{Account: e.Account, Version: e.Version - 1})
	u.entitlements.Put(rows, entitlementRow{Account: e.Account, Version: e.Version, Since: e.At, Cause: event.ID.String()})
}

func (u usage) opened(rows *table.Rows, event eventlog.Decoded, e ledger.PeriodOpened) {
	u.periods.Put(rows, periodRow{Account: e.Account, Start: e.Start, End: e.End, Plan: string(e.Plan), Limit: e.Limit})
	u.onTerms(rows, event, e)
}

func (u usage) changed(rows *table.Rows, event eventlog.Decoded, e ledger.TermsChanged) {
	period := periodRow{Account: e.Account, Start: e.Start}
	u.periods.plan.Set(rows, period, string(e.Plan))
	u.periods.limit.Set(rows, period, e.Limit)
	u.periods.end.Set(rows, period, e.End)
	u.credits.due.Set(rows, creditRow{Account: e.Account, Start: e.Start}, e.End)
	u.metered.Delete(rows, meteredRow{Account: e.Account, Start: e.Start})
	u.onTerms(rows, event, e.PeriodOpened)
}

// onTerms notes what follows from the terms of a period.
func (u usage) onTerms(rows *table.Rows, event eventlog.Decoded, e ledger.PeriodOpened) {
	if e.Version > 0 {
		u.entitlements.Delete(rows, entitlementRow{Account: e.Account, Version: e.Version})
	}
	if e.Metered {
		u.metered.Put(rows, meteredRow{Account: e.Account, Start: e.Start, Stream: event.Stream, Due: e.End.Add(closeAfter), Cause: event.ID.String()})
	}
}

// ended makes due what waits for the end of a period, whatever the time is: the log says that it is over.
func (u usage) ended(rows *table.Rows, e ledger.Ended) {
	u.periods.end.Set(rows, periodRow{Account: e.Account, Start: e.Start}, e.End)
	u.credits.due.Set(rows, creditRow{Account: e.Account, Start: e.Start}, e.At)
	u.metered.due.Set(rows, meteredRow{Account: e.Account, Start: e.Start}, e.At)
}
