package ledger

import (
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

var (
	spendingCaps   = readmodel.SpendingCapsView
	unfollowedCaps = readmodel.UnfollowedCaps
)

// capSet lists a spending cap instead of the previous one, until a period follows it.
func capSet(event eventlog.Decoded, rows *table.Rows, e account.SpendingCapSet) {
	unfollowedCaps.Delete(rows, readmodel.UnfollowedEntitlementRow{Account: e.Account, Version: e.Version - 1})
	unfollowedCaps.Put(rows, readmodel.UnfollowedEntitlementRow{
		Account: e.Account, Version: e.Version, Since: e.At, Cause: event.ID.String(),
	})
}

func followCap(rows *table.Rows, e ledger.SpendingCapSet) {
	unfollowedCaps.Delete(rows, readmodel.UnfollowedEntitlementRow{Account: e.Account, Version: e.Version})
	spendingCaps.Put(rows, readmodel.SpendingCapRow{
		Account: e.Account, Start: e.Start, Amount: e.Amount, Currency: e.Currency, Unit: e.Rate.Unit, Millis: e.Rate.Millis,
	})
}
