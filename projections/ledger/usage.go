// Package ledger holds the read model of usage: periods, open reservations, credit.
package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/feed"
	"github.com/recital-tts/recital/internal/feed/table"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection { return []feed.Projection{Usage()} }

// Usage is the read model of periods and of open reservations.
//
// Views: usage_periods (account_id, period_start, period_end, plan, character_limit, characters,
// playground_characters, credit_granted, credit_carried, credit_left), in characters that were settled,
// open_reservations (reservation_id, stream, account_id, characters, expires_at), and of the same rows todo_expiry, the
// to-do list of those that nobody settles. An expiry is caused by the command that reserved, whose id is the
// reservation's. todo_credit is the to-do list of periods whose credit is to go on to the next one; see creditPeriods.
//
// Version 2 counts credit.
func Usage() feed.Projection {
	periods := table.New("periods",
		table.Column{Name: "account_id", Type: table.Text, Key: true},
		table.Column{Name: "period_start", Type: table.Timestamptz, Key: true},
		table.Column{Name: "period_end", Type: table.Timestamptz},
		table.Column{Name: "plan", Type: table.Text},
		table.Column{Name: "character_limit", Type: table.Bigint, Null: true},
		table.Column{Name: "characters", Type: table.Bigint},
		table.Column{Name: "playground_characters", Type: table.Bigint},
		table.Column{Name: "credit_granted", Type: table.Bigint},
		table.Column{Name: "credit_carried", Type: table.Bigint}, // into a later period
	)
	reservations := table.New("reservations",
		table.Column{Name: "reservation_id", Type: table.Text, Key: true},
		table.Column{Name: "stream", Type: table.Text},
		table.Column{Name: "account_id", Type: table.Text},
		table.Column{Name: "characters", Type: table.Bigint},
		table.Column{Name: "expires_at", Type: table.Timestamptz},
	).Index("reservations_due", "expires_at").Index("reservations_of_stream", "stream")
	credits := creditPeriods()

	return feed.Projection{
		Name:    "usage",
		Version: 2,
		Tables:  []*table.Table{periods, reservations, credits},
		Views: []feed.View{
			{Name: "usage_periods", Select: `select account_id, period_start, period_end, plan, character_limit, characters, playground_characters,
				credit_granted, credit_carried, ` + creditLeft + ` as credit_left from periods`},
			{Name: "open_reservations", Select: `select reservation_id, stream, account_id, characters, expires_at from reservations`},
			{Name: "todo_expiry", Select: `select reservation_id as item, stream, expires_at as due_at, reservation_id as cause from reservations`},
			{Name: "todo_credit", Select: todoCredit},
		},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case ledger.PeriodOpened:
				rows.Put(periods, e.Account, e.Start, e.End, string(e.Plan), orNoLimit(e.Limit), 0, 0, 0, 0)
			case ledger.Reserved:
				rows.Put(reservations, e.Reservation, event.Stream, e.Account, e.Characters, e.ExpiresAt)
			case ledger.Settled:
				rows.Delete(reservations, table.Key{e.Reservation})
				rows.Add(periods, periodKey(e.Account, e.Start), "characters", e.Characters)
			case ledger.Expired:
				rows.Delete(reservations, table.Key{e.Reservation})
			case ledger.CreditGranted:
				creditGranted(rows, periods, credits, event, e)
			case ledger.CreditCarried:
				creditCarried(rows, credits, e)
			}
			return nil
		},
	}
}

func periodKey(account string, start time.Time) table.Key { return table.Key{account, start} }

func orNoLimit(limit *int64) any {
	if limit == nil {
		return nil
	}
	return *limit
}
