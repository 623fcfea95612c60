package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/feed/feedtest"
)

type periodRow struct {
	Account              string
	Start, End           time.Time
	Plan                 string
	Limit                *int64
	Characters           int64
	PlaygroundCharacters int64
	Granted              int64
	Carried              int64
	CreditLeft           int64
}

type reservationRow struct {
	ID, Stream, Account string
	Characters          int64
	ExpiresAt           time.Time
}

const (
	periodsOf = `select account_id, period_start, period_end, plan, character_limit, characters, playground_characters,
		credit_granted, credit_carried, credit_left
		from read_v2.usage_periods where account_id = $1 order by period_start`
	reservationsOf = `select reservation_id, stream, account_id, characters, expires_at
		from read_v2.open_reservations where account_id = $1 order by expires_at, reservation_id`
)

// history decides commands on one period.
type history struct {
	ledger.State
	events []any
}

func (h *history) do(command interface {
	Decide(ledger.State) ([]ledger.Event, error)
}) {
	decided, _ := command.Decide(h.State)
	for _, event := range decided {
		h.State = ledger.Evolve(h.State, event)
		h.events = append(h.events, event)
	}
}

// take is what was decided since the last time.
func (h *history) take() []any {
	taken := h.events
	h.events = nil
	return taken
}

func openPeriod(id string, t plan.Type, start time.Time) ledger.OpenPeriod {
	terms, _ := plan.Lookup(t)
	begin, end := plan.MonthlyPeriod(start, start)
	return ledger.OpenPeriod{Account: id, Plan: terms, Start: begin, End: end}
}

func TestUsageRows(t *testing.T) {
	w := newWorld(t)
	expires := now.Add(10 * time.Minute)
	var free, next history
	free.do(openPeriod("u1", plan.Free, now))
	for _, id := range []string{"settled", "expired", "open"} {
		free.do(ledger.Reserve{Reservation: id, Characters: 100, At: now, ExpiresAt: expires})
	}
	free.do(ledger.Settle{Reservation: "settled", Characters: 60, At: now})
	free.events = append(free.events, ledger.Expired{Account: "u1", Reservation: "expired", At: expires})
	w.Write(t, "usage-u1-1", free.events...)
	next.do(openPeriod("u1", plan.Enterprise, now.AddDate(0, 1, 0)))
	w.Write(t, "usage-u1-2", next.events...)

	limit := int64(15_000)
	require.Equal(t, []periodRow{
		{"u1", now, now.AddDate(0, 1, 0), "free", &limit, 60, 0, 0, 0, 0},
		{"u1", now.AddDate(0, 1, 0), now.AddDate(0, 2, 0), "enterprise", nil, 0, 0, 0, 0, 0},
	}, feedtest.Rows[periodRow](t, w, periodsOf, "u1"))
	require.Equal(t, []reservationRow{{"open", "usage-u1-1", "u1", 100, expires}}, feedtest.Rows[reservationRow](t, w, reservationsOf, "u1"))
}

// Clocks count nanoseconds and Postgres microseconds; a settlement finds its period all the same.
func TestAPeriodThatStartsBetweenMicroseconds(t *testing.T) {
	w := newWorld(t)
	for i, nanoseconds := range []time.Duration{1, 499, 500, 999} {
		id := fmt.Sprint("n", i)
		start := now.Add(nanoseconds)
		var h history
		h.do(openPeriod(id, plan.Free, start))
		h.do(ledger.Reserve{Reservation: id, Characters: 9, At: start, ExpiresAt: start.Add(time.Minute)})
		h.do(ledger.Settle{Reservation: id, Characters: 9, At: start})
		w.Write(t, "usage-"+id, h.events...)
		found := feedtest.Rows[periodRow](t, w, periodsOf, id)
		require.Len(t, found, 1)
		require.EqualValues(t, 9, found[0].Characters)
		require.False(t, found[0].Start.After(start), "the period holds from its first moment on")
	}
}

// Whatever is decided on a period, its rows show the state that the events fold to; a sum changes nothing in them.
func TestUsageRowsEqualTheFold(t *testing.T) {
	w := newWorld(t)
	rapid.Check(t, func(r *rapid.T) {
		id := uuid.NewString()
		stream := fmt.Sprintf("usage-%s-%d", id, now.Unix())
		var h history
		h.do(openPeriod(id, rapid.SampledFrom(plan.All()).Draw(r, "plan").Type, now))
		at := now
		for i := range rapid.IntRange(0, 40).Draw(r, "commands") {
			at = at.Add(time.Duration(rapid.IntRange(0, 200).Draw(r, "seconds")) * time.Second)
			n := rapid.Int64Range(0, 9_000).Draw(r, "characters")
			which := fmt.Sprint(id, rapid.IntRange(0, max(1, i)).Draw(r, "reservation"))
			switch rapid.IntRange(0, 5).Draw(r, "command") {
			case 0, 1:
				h.do(ledger.Reserve{Reservation: fmt.Sprint(id, i), Characters: n, At: at, ExpiresAt: at.Add(10 * time.Minute)})
			case 2:
				h.do(ledger.Settle{Reservation: which, Characters: n, At: at})
			case 3:
				h.do(ledger.Expire{At: at})
			case 4:
				h.SinceSnapshot = ledger.SnapshotEvery
				h.do(ledger.TakeSnapshot{At: at})
			case 5:
				h.do(ledger.Grant{Grant: fmt.Sprint(i), Characters: n + 1, At: at})
			}
		}
		w.Write(r, stream, h.events...)

		want := periodRow{id, h.Terms.Start, h.Terms.End, string(h.Terms.Plan), h.Terms.Limit, h.Settled, 0, h.Credit, 0, h.CreditLeft()}
		require.Equal(r, []periodRow{want}, feedtest.Rows[periodRow](r, w, periodsOf, id))
		var open []reservationRow
		for _, o := range h.Open {
			open = append(open, reservationRow{o.ID, stream, id, o.Characters, o.ExpiresAt})
		}
		require.ElementsMatch(r, open, feedtest.Rows[reservationRow](r, w, reservationsOf, id))
	})
}
