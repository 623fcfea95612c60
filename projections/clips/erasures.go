package clips

import (
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// erasureRow is an account that was closed, as long as clips of it may be saved: a row behind toDoEraseClips. There are
// few.
type erasureRow struct {
	Account string    `col:"account_id,key"`
	Stream  string    `col:"stream"`
	Due     time.Time `col:"due_at"`
	Cause   string    `col:"cause"`
}

func newErasures() table.Typed[erasureRow] {
	return table.Of[erasureRow]("erasures").Index("erasures_due", "due_at")
}

// toDoEraseClips lists an account as long as it has clips, those included that a request saves which was still running.
const toDoEraseClips = `select account_id as item, stream, due_at, cause from erasures as e
	where exists (select from clips as c where c.account_id = e.account_id)`

func (c clips) closed(rows *table.Rows, event eventlog.Decoded, e account.Closed) {
	c.erasures.Put(rows, erasureRow{Account: e.Account, Stream: event.Stream, Due: e.At, Cause: event.ID.String()})
}
