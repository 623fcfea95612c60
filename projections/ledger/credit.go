package ledger

import (
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/feed/table"
)

// creditLeft is ledger.State.CreditLeft over the columns of a period. Without a limit none is spent: greatest ignores NULL.
const creditLeft = `credit_granted - least(greatest(characters - character_limit, 0), credit_granted) - credit_carried`

// creditPeriods are the periods with credit that has not gone on to another one: the rows behind todo_credit. They are
// few, while there is a period for each account and month.
func creditPeriods() *table.Table {
	return table.New("credit_periods",
		table.Column{Name: "account_id", Type: table.Text, Key: true},
		table.Column{Name: "period_start", Type: table.Timestamptz, Key: true},
		table.Column{Name: "stream", Type: table.Text},
		table.Column{Name: "period_end", Type: table.Timestamptz},
		table.Column{Name: "cause", Type: table.Text},
	).Index("credit_periods_end", "period_end").Index("credit_periods_stream", "stream")
}

// todoCredit lists a period once nothing is reserved in it any more: until then nobody knows what will be left. It is
// done when what was left is granted in another period, or nothing was left.
const todoCredit = `select c.stream as item, c.stream, c.period_end as due_at, c.cause from credit_periods c
	where not exists (select from reservations r where r.stream = c.stream)`

func creditGranted(rows *table.Rows, periods, credits *table.Table, event eventlog.Decoded, e ledger.CreditGranted) {
	rows.Add(periods, periodKey(e.Account, e.Start), "credit_granted", e.Characters)
	rows.Put(credits, e.Account, e.Start, event.Stream, e.End, event.ID.String())
	if e.From != nil {
		rows.Add(periods, periodKey(e.Account, *e.From), "credit_carried", e.Characters)
		rows.Delete(credits, periodKey(e.Account, *e.From))
	}
}

// creditCarried waits for the grant in the other period, so that a recitald which ends in between leaves it on the list.
func creditCarried(rows *table.Rows, credits *table.Table, e ledger.CreditCarried) {
	if e.Characters == 0 {
		rows.Delete(credits, periodKey(e.Account, e.Start))
	}
}
