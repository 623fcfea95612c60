// Package ledger holds the read model of usage: periods with their credit and billed amounts, days, and open
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
	return []feed.Projection{{
		Model:   readmodel.Usage,
		Streams: eventlog.Streams{ledger.StreamPrefix, account.StreamPrefix},
		Tables: []*table.Table{
			periods.Table, days.Table, reservations.Table, credits.Table, unfollowed.Table, metered.Table, overages.Table,
			spendingCaps.Table, unfollowedCaps.Table,
		},
		Views: []readmodel.View{
			periods.View, days.View, reservations.View, spendingCaps.View, readmodel.ToDoFollowSpendingCapView.View,
			readmodel.ToDoExpiryView.View, readmodel.ToDoCreditView.View, readmodel.ToDoFollowEntitlementView.View,
			readmodel.ToDoClosePeriodView.View, readmodel.ToDoBillOverageView.View,
		},
		Handle: handle,
	}, {
		Model:   readmodel.UsageByKey,
		Streams: eventlog.Streams{ledger.StreamPrefix},
		Tables:  []*table.Table{readmodel.KeyUsageView.Table},
		Views:   []readmodel.View{readmodel.KeyUsageView.View},
		Handle:  settledByKey,
	}}
}

var (
	days         = readmodel.DailyUsageView
	reservations = readmodel.OpenReservationsView
	unfollowed   = readmodel.UnfollowedEntitlements
)

func handle(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case account.Entitled:
		entitled(event, rows, e)
	case account.SpendingCapSet:
		capSet(event, rows, e)
	case ledger.SpendingCapSet:
		followCap(rows, e)
	case ledger.BroughtIn:
		used.Add(rows, readmodel.UsagePeriodRow{Account: e.Account, Start: e.Start, Characters: e.Characters})
	case ledger.Reserved:
		reservations.Put(rows, readmodel.ReservationRow{
			ID: e.Reservation, Stream: event.Stream, Account: e.Account, Characters: e.Characters, ExpiresAt: e.ExpiresAt,
		})
	case ledger.Settled:
		settled(rows, e)
	case ledger.Expired:
		reservations.Delete(rows, readmodel.ReservationRow{ID: e.Reservation})
	default:
		handlePeriod(event, rows)
	}
	return nil
}

// entitled lists an entitlement instead of the previous one, until a period has its terms.
func entitled(event eventlog.Decoded, rows *table.Rows, e account.Entitled) {
	unfollowed.Delete(rows, readmodel.UnfollowedEntitlementRow{Account: e.Account, Version: e.Version - 1})
	unfollowed.Put(rows, readmodel.UnfollowedEntitlementRow{
		Account: e.Account, Version: e.Version, Since: e.At, Cause: event.ID.String(),
	})
}

// settled counts a settlement in its period and on its day.
func settled(rows *table.Rows, e ledger.Settled) {
	reservations.Delete(rows, readmodel.ReservationRow{ID: e.Reservation})
	if e.Characters == 0 {
		return
	}
	period := readmodel.UsagePeriodRow{Account: e.Account, Start: e.Start}
	day := readmodel.DailyUsageRow{Account: e.Account, Day: e.At.UTC()}
	if e.Source == ledger.Playground {
		period.Playground, day.Playground = e.Characters, e.Characters
	} else {
		period.Characters, day.API = e.Characters, e.Characters
	}
	used.Add(rows, period)
	days.Sum(rows, day)
}
