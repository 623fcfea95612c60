package ledger

import (
	"bytes"
	"encoding/json"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of the ledger. Their streams are named usage.
func Events() []eventlog.Type {
	return eventlog.In(ledger.StreamPrefix,
		eventlog.Define[ledger.PeriodOpened]("usage-period-opened", 1),
		eventlog.Define[ledger.TermsChanged]("usage-period-terms-changed", 1),
		eventlog.Define[ledger.Ended]("usage-period-ended", 1),
		eventlog.Define[ledger.Closed]("usage-period-closed", 1),
		eventlog.Define[ledger.OverageBilled]("usage-overage-billed", 1),
		eventlog.Define[ledger.SpendingCapSet]("usage-spending-cap-set", 1),
		eventlog.Define[ledger.BroughtIn]("usage-brought-in", 1),
		eventlog.Define[ledger.Reserved]("usage-reserved", 2, byAPI),
		eventlog.Define[ledger.Settled]("usage-settled", 1),
		eventlog.Define[ledger.UsageReached]("usage-share-reached", 1),
		eventlog.Define[ledger.SpendingReached]("usage-spending-reached", 1),
		eventlog.Define[ledger.Expired]("usage-expired", 1),
		eventlog.Define[ledger.SnapshotTaken]("usage-summed", 1),
		eventlog.Define[ledger.CreditGranted]("usage-credit-granted", 1),
		eventlog.Define[ledger.CreditCarried]("usage-credit-carried", 1),
		eventlog.Define[ledger.CreditSnapshotTaken]("usage-credit-summed", 1),
	)
}

// byAPI upcasts version 1 of usage-reserved, which has no source: all usage was with API keys.
func byAPI(data json.RawMessage) (json.RawMessage, error) {
	_, rest, _ := bytes.Cut(data, []byte("{"))
	return append([]byte(`{"source":"api",`), rest...), nil
}
