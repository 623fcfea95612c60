package billing

import (
	"time"

	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

type noticeRow struct {
	Notice string    `col:"notice_id,key"`
	Stream string    `col:"stream"`
	Due    time.Time `col:"due_at"`
	Cause  string    `col:"cause"`
}

// noticesModel is the read model of notices that were not handled. Nothing follows from those of analytics.
func noticesModel() feed.Projection {
	notices := table.Of[noticeRow]("notices").Index("notices_due", "due_at")
	return feed.Projection{
		Model:   readmodel.Notices,
		Streams: eventlog.Streams{payment.StreamPrefix},
		Tables:  []*table.Table{notices.Table},
		Views: []feed.View{
			{View: readmodel.ToDoPaymentView, Select: `select notice_id as item, stream, due_at, cause from notices`},
		},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case payment.Received:
				if !e.Analytics {
					notices.Put(rows, noticeRow{Notice: e.ID, Stream: event.Stream, Due: e.At, Cause: event.ID.String()})
				}
			case payment.Handled:
				notices.Delete(rows, noticeRow{Notice: e.ID})
			}
			return nil
		},
	}
}
