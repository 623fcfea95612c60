package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// dayRow is what an account has used on a day (UTC). There is one for each account and day, and not for each synthesis.
type dayRow struct {
	Account    string    `col:"account_id,key"`
	Day        time.Time `col:"day,key,date"`
	API        int64     `col:"api_characters"`
	Playground int64     `col:"playground_characters"`
}

func newDays() table.Sums[dayRow] { return table.SumsOf[dayRow]("days") }

// settled counts in the period and on the day. A day on which nothing was used has no row.
func (u usage) settled(rows *table.Rows, e ledger.Settled) {
	u.reservations.Delete(rows, reservationRow{ID: e.Reservation})
	if e.Characters == 0 {
		return
	}
	period, day := periodRow{Account: e.Account, Start: e.Start}, dayRow{Account: e.Account, Day: e.At.UTC()}
	switch e.Source {
	case ledger.Playground:
		u.periods.playground.Add(rows, period, e.Characters)
		day.Playground = e.Characters
	default:
		u.periods.characters.Add(rows, period, e.Characters)
		day.API = e.Characters
	}
	u.days.Add(rows, day)
}
