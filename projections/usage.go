package projections

import (
	"time"

	"github.com/recital-tts/recital/domain/usage"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/feed"
)

// Usage is the read model of periods and of open reservations.
//
// Views: usage_periods (account_id, period_start, period_end, plan, character_limit, characters,
// playground_characters), in characters that were settled, open_reservations (reservation_id, stream, account_id,
// characters, expires_at), and of the same rows todo_expiry, the to-do list of those that nobody settles. An expiry is
// caused by the command that reserved, whose id is the reservation's.
func Usage() feed.Projection {
	periods := feed.NewTable("periods",
		feed.Column{Name: "account_id", Type: feed.Text, Key: true},
		feed.Column{Name: "period_start", Type: feed.Timestamptz, Key: true},
		feed.Column{Name: "period_end", Type: feed.Timestamptz},
		feed.Column{Name: "plan", Type: feed.Text},
		feed.Column{Name: "character_limit", Type: feed.Bigint, Null: true},
		feed.Column{Name: "characters", Type: feed.Bigint},
		feed.Column{Name: "playground_characters", Type: feed.Bigint},
	)
	reservations := feed.NewTable("reservations",
		feed.Column{Name: "reservation_id", Type: feed.Text, Key: true},
		feed.Column{Name: "stream", Type: feed.Text},
		feed.Column{Name: "account_id", Type: feed.Text},
		feed.Column{Name: "characters", Type: feed.Bigint},
		feed.Column{Name: "expires_at", Type: feed.Timestamptz},
	).Index("reservations_due", "expires_at")

	return feed.Projection{
		Name:    "usage",
		Version: 1,
		Tables:  []*feed.Table{periods, reservations},
		Views: []feed.View{
			{Name: "usage_periods", Select: `select account_id, period_start, period_end, plan, character_limit, characters, playground_characters from periods`},
			{Name: "open_reservations", Select: `select reservation_id, stream, account_id, characters, expires_at from reservations`},
			{Name: "todo_expiry", Select: `select reservation_id as item, stream, expires_at as due_at, reservation_id as cause from reservations`},
		},
		Handle: func(event eventlog.Decoded, rows *feed.Rows) error {
			switch e := event.Event.(type) {
			case usage.PeriodOpened:
				rows.Put(periods, e.Account, e.Start, e.End, string(e.Plan), orNoLimit(e.Limit), 0, 0)
			case usage.Reserved:
				rows.Put(reservations, e.Reservation, event.Stream, e.Account, e.Characters, e.ExpiresAt)
			case usage.Settled:
				rows.Delete(reservations, feed.Key{e.Reservation})
				rows.Add(periods, periodKey(e.Account, e.Start), "characters", e.Characters)
			case usage.Expired:
				rows.Delete(reservations, feed.Key{e.Reservation})
			}
			return nil
		},
	}
}

func periodKey(account string, start time.Time) feed.Key { return feed.Key{account, start} }

func orNoLimit(limit *int64) any {
	if limit == nil {
		return nil
	}
	return *limit
}
