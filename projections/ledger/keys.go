package ledger

import (
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// settledByKey counts the characters of a key. Usage by a session has no key.
func settledByKey(event eventlog.Decoded, rows *table.Rows) error {
	if e, ok := event.Event.(ledger.Settled); ok && e.Characters > 0 && event.Meta.Actor.Key != "" {
		readmodel.KeyUsageView.Sum(rows, readmodel.KeyUsageRow{
			Account: e.Account, Key: event.Meta.Actor.Key, Day: e.At.UTC(), Characters: e.Characters,
		})
	}
	return nil
}
