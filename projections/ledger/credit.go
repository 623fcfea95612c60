package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// creditLeft is ledger.State.CreditLeft over the columns of a period. Without a limit none is spent: greatest ignores
// NULL.
const creditLeft = `credit_granted - least(greatest(characters + playground_characters - character_limit, 0), credit_granted) - credit_carried`

// creditRow is a period with credit that has not been carried into another one: a row behind toDoCredit. There are few
// of them, while there is a period for each account and month.
type creditRow struct {
	Account string    `col:"account_id,key"`
	Start   time.Time `col:"period_start,key"`
	Stream  string    `col:"stream"`
	Due     time.Time `col:"due_at"`
	Cause   string    `col:"cause"`
}

// credits is the table of periods with credit.
type credits struct {
	table.Typed[creditRow]
	due table.Field[creditRow, time.Time]
}

func newCredits() credits {
	t := table.Of[creditRow]("credit_periods").
		Index("credit_periods_due", "due_at").
		Index("credit_periods_stream", "stream")
	return credits{Typed: t, due: table.FieldOf(t, func(r *creditRow) *time.Time { return &r.Due })}
}

// toDoCredit lists a period once nothing is reserved in it any more: until then nobody knows what will be left. It is
// done when what was left is granted in another period, or nothing was left.
const toDoCredit = `select c.stream as item, c.stream, c.due_at, c.cause from credit_periods c
	where not exists (select from reservations r where r.stream = c.stream)`

func (u usage) granted(rows *table.Rows, event eventlog.Decoded, e ledger.CreditGranted) {
	u.periods.creditGranted.Add(rows, periodRow{Account: e.Account, Start: e.Start}, e.Characters)
	u.credits.Put(rows, creditRow{Account: e.Account, Start: e.Start, Stream: event.Stream, Due: e.End, Cause: event.ID.String()})
	if e.From != nil {
		u.periods.creditCarried.Add(rows, periodRow{Account: e.Account, Start: *e.From}, e.Characters)
		u.credits.Delete(rows, creditRow{Account: e.Account, Start: *e.From})
	}
}

// carried waits for the grant in the other period, so that a recitald which ends in between leaves the period on the
// list.
func (u usage) carried(rows *table.Rows, e ledger.CreditCarried) {
	if e.Characters == 0 {
		u.credits.Delete(rows, creditRow{Account: e.Account, Start: e.Start})
	}
}
