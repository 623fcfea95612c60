package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// closeAfter is how long after its end a period is closed that nothing has ended. By then the payment provider has
// said, or was asked, what the account was entitled to until then.
const closeAfter = time.Hour

// meteredRow is a period of a metered plan that is not closed: a row behind toDoClosePeriod.
type meteredRow struct {
	Account string    `col:"account_id,key"`
	Start   time.Time `col:"period_start,key"`
	Stream  string    `col:"stream"`
	Due     time.Time `col:"due_at"`
	Cause   string    `col:"cause"`
}

// metered is the table of periods of metered plans.
type metered struct {
	table.Typed[meteredRow]
	due table.Field[meteredRow, time.Time]
}

func newMetered() metered {
	t := table.Of[meteredRow]("metered_periods").Index("metered_periods_due", "due_at")
	return metered{Typed: t, due: table.FieldOf(t, func(r *meteredRow) *time.Time { return &r.Due })}
}

// toDoClosePeriod lists a period once nothing is reserved in it any more: until then nobody knows what it comes to.
const toDoClosePeriod = `select m.stream as item, m.stream, m.due_at, m.cause from metered_periods m
	where not exists (select from reservations r where r.stream = m.stream)`

// overageRow is a closed period whose overage is not billed: a row behind toDoBillOverage.
type overageRow struct {
	Account  string    `col:"account_id,key"`
	Start    time.Time `col:"period_start,key"`
	Stream   string    `col:"stream"`
	ClosedAt time.Time `col:"closed_at"`
	Cause    string    `col:"cause"`
}

func newOverages() table.Typed[overageRow] {
	return table.Of[overageRow]("overages").Index("overages_closed", "closed_at")
}

const toDoBillOverage = `select stream as item, stream, closed_at as due_at, cause from overages`

func (u usage) closed(rows *table.Rows, event eventlog.Decoded, e ledger.Closed) {
	u.metered.Delete(rows, meteredRow{Account: e.Account, Start: e.Start})
	if e.Overage > 0 {
		u.overages.Put(rows, overageRow{Account: e.Account, Start: e.Start, Stream: event.Stream, ClosedAt: e.At, Cause: event.ID.String()})
	}
}
