package ledger

import (
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/eventlog"
)

// Events returns the event types of the ledger. Their streams are named usage.
func Events() []eventlog.Type {
	return eventlog.In(streamPrefix,
		eventlog.Define[ledger.PeriodOpened]("usage-period-opened", 1),
		eventlog.Define[ledger.Reserved]("usage-reserved", 1),
		eventlog.Define[ledger.Settled]("usage-settled", 1),
		eventlog.Define[ledger.Expired]("usage-expired", 1),
		eventlog.Define[ledger.SnapshotTaken]("usage-summed", 1),
		eventlog.Define[ledger.CreditGranted]("usage-credit-granted", 1),
		eventlog.Define[ledger.CreditCarried]("usage-credit-carried", 1),
		eventlog.Define[ledger.CreditSnapshotTaken]("usage-credit-summed", 1),
	)
}
