package app_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// openedSoThat returns an opening time for an account with the given period end.
func openedSoThat(t *testing.T, end time.Time) time.Time {
	t.Helper()
	for months := 1; months <= 12; months++ {
		opened := end.AddDate(0, -months, 0)
		if _, ends := plan.MonthlyPeriod(opened, end.Add(-1)); ends.Equal(end) {
			return opened
		}
	}
	require.Fail(t, "no period ends then", end)
	return time.Time{}
}

func TestCreditIsCarriedOverWhenAPeriodEnds(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a running recitald, and accounts with periods that are about to end
	cfg := config(t)
	a := open(t, cfg)
	log := joinLog(t, cfg.DataDir)
	write := func(stream string, events ...any) { appendTo(t, log, stream, eventlog.NoStream, events...) }
	read := func(stream string) (s ledger.State, events []eventlog.Decoded) {
		events = eventsOf(t, log, stream, 0)
		for _, e := range events {
			s = ledger.Evolve(s, e.Event.(ledger.Event))
		}
		return s, events
	}

	end := time.Now().UTC().Add(1500 * time.Millisecond)
	opened := openedSoThat(t, end)
	start, _ := plan.MonthlyPeriod(opened, end.Add(-1))
	limit := int64(15_000)
	old := func(id string) string { return fmt.Sprintf("usage-%s-%d", id, start.Unix()) }
	next := func(id string) string { return fmt.Sprintf("usage-%s-%d", id, end.Unix()) }
	give := func(id string, more ...any) {
		write("account-"+id, account.Opened{Account: id, Plan: plan.Free, At: opened})
		write(old(id), append([]any{
			ledger.PeriodOpened{Account: id, Plan: plan.Free, Limit: &limit, Start: start, End: end},
			ledger.CreditGranted{Account: id, Grant: "g", Characters: 500, Start: start, End: end, At: start},
		}, more...)...)
	}

	// when one has credit left, one has a reply in progress, one has no credit left, and one was interrupted after the end
	// of the period was recorded
	speaks := ledger.Reserved{
		Account: "speaks", Reservation: uuid.NewString(), Characters: 15_200, At: end, ExpiresAt: end.Add(time.Second),
	}
	all := ledger.Reserved{
		Account: "spent", Reservation: uuid.NewString(), Characters: 15_500, At: start, ExpiresAt: end.Add(time.Hour),
	}
	give("left")
	give("speaks", speaks)
	give("spent", all, ledger.Settled{
		Account: "spent", Reservation: all.Reservation, Characters: 15_500, Start: start, At: start,
	})
	give("killed", ledger.CreditCarried{Account: "killed", Characters: 500, Start: start, To: end, At: end})

	// then the remaining credit is carried over when the period has ended and no reply is in progress
	for _, id := range []string{"left", "speaks", "killed"} {
		var granted ledger.State
		var events []eventlog.Decoded
		require.Eventually(t, func() bool {
			granted, events = read(next(id))
			return len(events) >= 2
		}, patience, pause)
		require.Len(t, events, 2)
		require.EqualValues(t, 500, granted.CreditLeft())
		require.Equal(t, start, *granted.Grants[0].From)
		require.False(t, events[1].Event.(ledger.CreditGranted).At.Before(end))
		if id == "speaks" {
			require.False(t, events[1].Event.(ledger.CreditGranted).At.Before(end.Add(time.Second)))
		}
		over, ends := read(old(id))
		require.Equal(t, end, over.CarriedTo)
		require.Zero(t, over.CreditLeft())
		if id != "killed" {
			require.Equal(t, ends[1].ID, ends[len(ends)-1].Meta.CausationID, "the grant is the cause")
		}
	}
	require.Eventually(t, func() bool { over, _ := read(old("spent")); return over.Over() }, patience, pause)
	_, none := read(next("spent"))
	require.Empty(t, none)

	// and no to-do has failed or remains
	require.Eventually(t, func() bool {
		lines := figures(t, a, secret(t, cfg, "operator-token"))
		return slices.Contains(lines, `recital_todo_due_items{process="credit"} 0`)
	}, patience, pause)
	require.Contains(t, figures(t, a, secret(t, cfg, "operator-token")), `recital_todo_failures_total{process="credit"} 0`)
}
