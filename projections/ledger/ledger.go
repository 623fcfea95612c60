// Package ledger holds the read model of usage: periods with their credit and what is billed of them, days, and open
// reservations.
package ledger

import (
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{newUsage().model()}
}

// usage is the read model of usage.
type usage struct {
	periods      periods
	days         table.Sums[dayRow]
	reservations table.Typed[reservationRow]
	credits      credits
	entitlements table.Typed[entitlementRow]
	metered      metered
	overages     table.Typed[overageRow]
}

func newUsage() usage {
	return usage{
		periods: newPeriods(), days: newDays(), reservations: newReservations(), credits: newCredits(),
		entitlements: newEntitlements(), metered: newMetered(), overages: newOverages(),
	}
}

func (u usage) model() feed.Projection {
	return feed.Projection{
		Model: readmodel.Usage,
		Tables: []*table.Table{
			u.periods.Table, u.days.Table, u.reservations.Table, u.credits.Table, u.entitlements.Table, u.metered.Table, u.overages.Table,
		},
		Views: []feed.View{
			{View: readmodel.UsagePeriodsView, Select: `select account_id, period_start, period_end, plan, character_limit, characters, playground_characters,
				credit_granted, credit_carried, ` + creditLeft + ` as credit_left from periods`},
			{View: readmodel.DailyUsageView, Select: `select account_id, day, api_characters, playground_characters from days`},
			{View: readmodel.OpenReservationsView, Select: `select reservation_id, stream, account_id, characters, expires_at from reservations`},
			{View: readmodel.ToDoExpiryView.View, Select: toDoExpiry},
			{View: readmodel.ToDoCreditView.View, Select: toDoCredit},
			{View: readmodel.ToDoFollowEntitlementView.View, Select: toDoFollowEntitlement},
			{View: readmodel.ToDoClosePeriodView.View, Select: toDoClosePeriod},
			{View: readmodel.ToDoBillOverageView.View, Select: toDoBillOverage},
		},
		Streams: eventlog.Streams{ledger.StreamPrefix, account.StreamPrefix},
		Handle:  u.handle,
	}
}

func (u usage) handle(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case account.Entitled:
		u.entitled(rows, event, e)
	case ledger.PeriodOpened:
		u.opened(rows, event, e)
	case ledger.TermsChanged:
		u.changed(rows, event, e)
	case ledger.Ended:
		u.ended(rows, e)
	case ledger.Closed:
		u.closed(rows, event, e)
	case ledger.OverageBilled:
		u.overages.Delete(rows, overageRow{Account: e.Account, Start: e.Start})
	case ledger.BroughtIn:
		u.periods.characters.Add(rows, periodRow{Account: e.Account, Start: e.Start}, e.Characters)
	case ledger.Reserved:
		u.reservations.Put(rows, reservationRow{
			ID: e.Reservation, Stream: event.Stream, Account: e.Account, Characters: e.Characters, ExpiresAt: e.ExpiresAt,
		})
	case ledger.Settled:
		u.settled(rows, e)
	case ledger.Expired:
		u.reservations.Delete(rows, reservationRow{ID: e.Reservation})
	case ledger.CreditGranted:
		u.granted(rows, event, e)
	case ledger.CreditCarried:
		u.carried(rows, e)
	}
	return nil
}
