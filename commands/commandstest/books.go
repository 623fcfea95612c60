package commandstest

import (
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/ledger"
)

// Books are the events of one period, checked for the invariants of any history.
type Books struct {
	ledger.State
	Events    []ledger.Event
	SettledBy map[string]int64 // by reservation
	EndedBy   map[string]int   // by reservation: number of ends
	Snapshots int
}

// Books reads an account's current period.
func (w *World) Books(id string) Books {
	w.T.Helper()
	return w.BooksOf(w.Stream(id))
}

// BooksOf reads a period.
func (w *World) BooksOf(stream string) Books {
	w.T.Helper()
	b := Books{SettledBy: map[string]int64{}, EndedBy: map[string]int{}}
	b.Events = Fold[ledger.Event](w, stream)
	reserved := map[string]int64{}
	var total, credit, billed int64
	var grants []ledger.Credited
	for _, event := range b.Events {
		requireMayFollow(w.T, b.State, event)
		switch e := event.(type) {
		case ledger.BroughtIn:
			total += e.Characters
		case ledger.TermsChanged:
			billed += e.Overage
		case ledger.Reserved:
			_, twice := reserved[e.Reservation] // checking this with NotContains is slow if there are many
			require.False(w.T, twice, "reserved twice")
			reserved[e.Reservation] = e.Characters
			if limit := b.Terms.Limit; limit != nil && !b.Terms.Metered && e.Characters > 0 {
				require.LessOrEqual(w.T, b.Settled+b.Reserved+e.Characters, *limit+credit, "a free account is over its limit")
			}
		case ledger.Settled:
			require.LessOrEqual(w.T, e.Characters, reserved[e.Reservation])
			b.SettledBy[e.Reservation] = e.Characters
			b.EndedBy[e.Reservation]++
			total += e.Characters
		case ledger.Expired:
			b.EndedBy[e.Reservation]++
		case ledger.SnapshotTaken:
			b.Snapshots++
			require.Equal(w.T, b.Settled, e.Characters, "a snapshot is the sum of the events before it")
			require.Equal(w.T, append([]ledger.Reservation{}, b.Open...), append([]ledger.Reservation{}, e.Reservations...),
				"in the order of their creation")
		case ledger.CreditGranted:
			grants = append(grants, ledger.Credited{Grant: e.Grant, Characters: e.Characters, From: e.From})
			credit += e.Characters
		case ledger.CreditSnapshotTaken:
			require.Equal(w.T, grants, e.Grants)
		}
		b.State = ledger.Evolve(b.State, event)
	}
	for reservation, times := range b.EndedBy {
		require.Equal(w.T, 1, times, "reservation %s has ended more than once", reservation)
	}
	require.Equal(w.T, total, b.Settled+billed)
	require.Equal(w.T, grants, b.Grants)
	require.Equal(w.T, credit, b.Credit)
	return b
}

// requireMayFollow checks the events after the end of a period: reservations end, then the credit is carried out of the
// period, and it is closed.
func requireMayFollow(t require.TestingT, s ledger.State, event ledger.Event) {
	if billed, is := event.(ledger.OverageBilled); is {
		overage, found := s.OverageOn(billed.Version)
		require.True(t, found)
		require.False(t, overage.Billed, "billed twice")
		return
	}
	if !s.Over() {
		return
	}
	switch event.(type) {
	case ledger.Settled, ledger.Expired:
		require.NotEmpty(t, s.Open)
		require.Zero(t, s.CarriedTo, "settled after the credit was carried")
		require.False(t, s.Closed(), "settled after the closing")
	case ledger.CreditCarried:
		require.Zero(t, s.CarriedTo, "carried twice")
	case ledger.Closed:
		require.False(t, s.Closed(), "closed twice")
	default:
		require.Fail(t, "a period continues after its end", "%T after the end of the period", event)
	}
}
