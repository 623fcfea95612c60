package accounts

import (
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

type closingRow struct {
	Account string    `col:"account_id,key"`
	Stream  string    `col:"stream"`
	Due     time.Time `col:"due_at"`
	Cause   string    `col:"cause"`
}

// closingsModel is the read model of accounts that were closed and have not been erased for good.
func closingsModel() feed.Projection {
	closings := table.Of[closingRow]("closings").Index("closings_due", "due_at")
	return feed.Projection{
		Model:   readmodel.Closings,
		Streams: eventlog.Streams{account.StreamPrefix},
		Tables:  []*table.Table{closings.Table},
		Views: []feed.View{
			{View: readmodel.ToDoCloseAccountView.View, Select: `select account_id as item, stream, due_at, cause from closings`},
		},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case account.Closed:
				closings.Put(rows, closingRow{Account: e.Account, Stream: event.Stream, Due: e.At, Cause: event.ID.String()})
			case account.Erased:
				closings.Put(rows, closingRow{Account: e.Account, Stream: event.Stream, Due: e.AgainAt, Cause: event.ID.String()})
			case account.ErasureRepeated:
				closings.Delete(rows, closingRow{Account: e.Account})
			}
			return nil
		},
	}
}
