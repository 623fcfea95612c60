package commands_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/todo"
)

// expiries are the events of a stream that ended reservations, by reservation.
func (w *world) expiries(stream string) map[string]eventlog.Decoded {
	w.t.Helper()
	found := map[string]eventlog.Decoded{}
	for recorded, err := range w.log.ReadStream(w.t.Context(), stream, 0) {
		require.NoError(w.t, err)
		decoded, err := w.journal.Registry.Decode(recorded)
		require.NoError(w.t, err)
		if e, ok := decoded.Event.(ledger.Expired); ok {
			require.NotContains(w.t, found, e.Reservation)
			found[e.Reservation] = decoded
		}
	}
	return found
}

// The to-do worker and the next command on a period write the same events, which name their cause.
func TestAnExpiryNamesItsCauseAndIsTheSameHoweverItComesAbout(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, keeper *commands.Ledger, w *world, id string){
		"by the worker":           func(t *testing.T, keeper *commands.Ledger, w *world, id string) { expire(t, keeper, w.stream(id)) },
		"by the next reservation": func(t *testing.T, keeper *commands.Ledger, _ *world, id string) { reserve(t, keeper, id, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			// given two reservations of an instance that is gone
			w := newWorld(t)
			id := w.open("free")
			gone := w.ledger()
			reservations := []commands.Reservation{reserve(t, gone, id, 10), reserve(t, gone, id, 20)}

			// when their time is over
			w.clock.advance(longest)
			end(t, w.ledger(), w, id)

			// then each expires under an id that follows from the command that reserved
			expiries := w.expiries(w.stream(id))
			require.Len(t, expiries, len(reservations))
			for _, r := range reservations {
				e := expiries[r.ID.String()]
				require.Equal(t, r.ID, e.Meta.CausationID)
				require.Equal(t, r.ID, e.Meta.CorrelationID)
				require.Equal(t, todo.CommandID("expiry", r.ID.String(), r.ID), e.Meta.CommandID)
				require.Equal(t, eventlog.EventID(e.Meta.CommandID, 0), e.ID)
				require.Equal(t, eventlog.ActorSystem, e.Meta.Actor.Kind)
			}
		})
	}
}

func TestInstancesThatExpireTheSameAtOnce(t *testing.T) {
	// given many due reservations
	const open = 700
	w := newWorld(t)
	id := w.open("enterprise")
	gone := w.ledger()
	var wait sync.WaitGroup
	for range open {
		wait.Go(func() { reserve(t, gone, id, 1) })
	}
	wait.Wait()
	w.clock.advance(longest)

	// when three instances expire them, each for many items of the list
	for range 3 {
		keeper := w.ledger()
		for range 20 {
			wait.Go(func() { expire(t, keeper, w.stream(id)) })
		}
	}
	wait.Wait()

	// then each has expired once
	require.Len(t, w.expiries(w.stream(id)), open)
	require.Empty(t, w.books(id).Open)
}

func TestAReservationThatNoLedgerMadeExpiresToo(t *testing.T) {
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	reserve(t, keeper, id, 1)
	w.other(w.stream(id), 1, ledger.Reserved{Account: id, Reservation: "by hand", Characters: 2, At: w.clock.Now(), ExpiresAt: w.clock.Now()})
	require.NotZero(t, expire(t, keeper, w.stream(id)))
	require.NotEqual(t, uuid.Nil, w.expiries(w.stream(id))["by hand"].Meta.CausationID)
}
