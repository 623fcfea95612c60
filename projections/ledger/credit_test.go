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
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
)

type todoRow struct {
	Item, Stream string
	Due          time.Time
}

const creditToDoOf = `select item, stream, due_at from read_v1.todo_credit
	where stream like 'usage-' || $1 || '-%' order by due_at`

func TestAPeriodWithCreditIsOnTheListUntilItsCreditIsElsewhere(t *testing.T) {
	w := suite.World(t)
	next := now.AddDate(0, 1, 0)
	stream := func(period int) string { return fmt.Sprintf("usage-u2-%d", period) }
	listed := func() (due []time.Time) {
		for _, row := range feedtest.Rows[todoRow](t, w, creditToDoOf, "u2") {
			require.Equal(t, row.Item, row.Stream)
			due = append(due, row.Due)
		}
		return due
	}
	var first, second history
	first.do(openPeriod("u2", plan.Free, now))
	second.do(openPeriod("u2", plan.Free, next))

	// given a period without credit, then it is not listed
	revision := w.Append(t, stream(1), eventlog.NoStream, first.take()...)
	require.Empty(t, listed())

	// when credit is granted, then it is due at the end of the period
	first.do(ledger.Grant{Grant: "g", Characters: 500, At: now})
	revision = w.Append(t, stream(1), revision, first.take()...)
	require.Equal(t, []time.Time{next}, listed())
	var cause string
	row := w.Pool.QueryRow(t.Context(), "select cause from read_v1.todo_credit where stream = $1", stream(1))
	require.NoError(t, row.Scan(&cause))
	require.NoError(t, uuid.Validate(cause))

	// while there is a reservation, then not yet
	first.do(ledger.Reserve{Reservation: "long", Characters: 15_100, At: now, ExpiresAt: next})
	revision = w.Append(t, stream(1), revision, first.take()...)
	require.Empty(t, listed())
	first.do(ledger.Settle{Reservation: "long", Characters: 15_100, At: now})
	revision = w.Append(t, stream(1), revision, first.take()...)
	require.Equal(t, []time.Time{next}, listed())

	// when a worker has ended the period and stopped, then it is still due
	first.do(ledger.Carry{To: next, At: next})
	w.Append(t, stream(1), revision, first.take()...)
	require.Equal(t, []time.Time{next}, listed())

	// and when the rest is granted in the next period, then that one is on the list
	second.do(ledger.Grant{Grant: "carried", Characters: first.Carried, From: &first.Terms.Start, At: next})
	w.Append(t, stream(2), eventlog.NoStream, second.take()...)
	require.Equal(t, []time.Time{next.AddDate(0, 1, 0)}, listed())
	limit := int64(15_000)
	require.Equal(t, []periodRow{
		{"u2", now, next, "free", &limit, 15_100, 0, 500, 400, 0},
		{"u2", next, next.AddDate(0, 1, 0), "free", &limit, 0, 0, 400, 0, 400},
	}, feedtest.Rows[periodRow](t, w, periodsOf, "u2"))

	// until its credit is used up
	second.do(ledger.Reserve{Reservation: "all", Characters: 15_400, At: next, ExpiresAt: next.AddDate(1, 0, 0)})
	second.do(ledger.Settle{Reservation: "all", Characters: 15_400, At: next})
	second.do(ledger.Carry{To: next.AddDate(0, 1, 0), At: next.AddDate(0, 1, 0)})
	w.Append(t, stream(2), 1, second.take()...)
	require.Empty(t, listed())
}

// After any events in the periods of an account, the rows are the fold of the events.
func TestCreditRowsEqualTheFold(t *testing.T) {
	w := suite.World(t)
	rapid.Check(t, func(r *rapid.T) {
		id := uuid.NewString()
		terms := rapid.SampledFrom(plan.All()).Draw(r, "plan")
		scale := max(1, terms.Characters/15_000)
		var want []periodRow
		open := []todoRow{}
		var carried ledger.State
		for month := range rapid.IntRange(1, 4).Draw(r, "months") {
			start := now.AddDate(0, month, 0)
			stream := fmt.Sprintf("usage-%s-%d", id, start.Unix())
			var h history
			h.do(openPeriod(id, terms.Type, start))
			if carried.Carried > 0 {
				h.do(ledger.Grant{Grant: "carried", Characters: carried.Carried, From: &carried.Terms.Start, At: start})
			}
			for i := range rapid.IntRange(0, 6).Draw(r, "commands") {
				n := rapid.Int64Range(0, 20_000).Draw(r, "characters") * scale
				h.do(ledger.Grant{Grant: fmt.Sprint("g", i), Characters: n / 4, At: start})
				reservation := fmt.Sprint(stream, i)
				h.do(ledger.Reserve{Reservation: reservation, Characters: n, At: start, ExpiresAt: start.Add(time.Minute)})
				if rapid.Bool().Draw(r, "settled") {
					h.do(ledger.Settle{Reservation: reservation, Characters: n, At: start})
				}
			}
			ends := rapid.Bool().Draw(r, "ends")
			if ends {
				h.expire(h.Terms.End)
				h.do(ledger.Carry{To: h.Terms.End, At: h.Terms.End})
			}
			w.Write(r, stream, h.events...)
			row := periodRow{
				id, h.Terms.Start, h.Terms.End, string(terms.Type), h.Terms.Limit, h.Settled, 0, h.Credit, 0, h.CreditLeft(),
			}
			if ends { // and is granted only in the next round, if there is one
				row.CreditLeft = h.Credit - h.CreditSpent()
			}
			if n := len(want); n > 0 && carried.Carried > 0 {
				want[n-1].Carried, want[n-1].CreditLeft = carried.Carried, 0
				open = open[:len(open)-1]
			}
			want = append(want, row)
			if h.Credit > 0 && len(h.Open) == 0 && (!ends || h.Carried > 0) {
				open = append(open, todoRow{stream, stream, h.Terms.End})
			}
			carried = ledger.State{}
			if ends {
				carried = h.State
			}
		}
		require.Equal(r, want, feedtest.Rows[periodRow](r, w, periodsOf, id))
		require.Equal(r, open, feedtest.Rows[todoRow](r, w, creditToDoOf, id))
	})
}
