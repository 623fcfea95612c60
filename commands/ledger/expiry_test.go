package ledger_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// expiries returns the events of a stream that ended reservations, by reservation.
func (w *world) expiries(stream string) map[string]eventlog.Decoded {
	w.T.Helper()
	found := map[string]eventlog.Decoded{}
	for _, decoded := range w.Decoded(stream) {
		if e, ok := decoded.Event.(ledger.Expired); ok {
			require.NotContains(w.T, found, e.Reservation)
			found[e.Reservation] = decoded
		}
	}
	return found
}

// The to-do worker and the next command on a period write the same events, with the same cause.
func TestAnExpiryNamesItsCauseAndIsTheSameHoweverItComesAbout(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, keeper *commands.Ledger, w *world, id string){
		"by the worker": func(t *testing.T, keeper *commands.Ledger, w *world, id string) { expire(t, keeper, w.Stream(id)) },
		"by the next reservation": func(t *testing.T, keeper *commands.Ledger, _ *world, id string) {
			commandstest.Reserve(t, keeper, id, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			// given two reservations of an instance that is gone
			w := newWorld(t)
			id := w.Open("free")
			gone := w.Ledger()
			reservations := []commands.Reservation{commandstest.Reserve(t, gone, id, 10), commandstest.Reserve(t, gone, id, 20)}

			// when they are due
			keeper := w.Ledger()
			expire(t, keeper, w.Stream(id))
			w.Clock.Advance(commandstest.Longest)
			end(t, keeper, w, id)

			// then each expires with an id derived from the command that reserved
			expiries := w.expiries(w.Stream(id))
			require.Len(t, expiries, len(reservations))
			for _, r := range reservations {
				e := expiries[r.ID.String()]
				require.Equal(t, r.ID, e.Meta.CausationID)
				require.Equal(t, r.ID.String(), e.Meta.CorrelationID)
				require.Equal(t, todo.CommandID("expiry", r.ID.String(), r.ID), e.Meta.CommandID)
				require.Equal(t, eventlog.EventID(e.Meta.CommandID, 0), e.ID)
				require.Equal(t, eventlog.ActorSystem, e.Meta.Actor.Kind)
			}
		})
	}
}

func TestInstancesThatExpireTheSameAtOnce(t *testing.T) {
	// given more due reservations than expire in one append
	const open = 520
	w := newWorld(t)
	id := w.Open("enterprise")
	gone := w.Ledger()
	var wait sync.WaitGroup
	for range open {
		wait.Go(func() { commandstest.Reserve(t, gone, id, 1) })
	}
	wait.Wait()
	keepers := []*commands.Ledger{w.Ledger(), w.Ledger(), w.Ledger()}
	for _, keeper := range keepers {
		expire(t, keeper, w.Stream(id))
	}
	w.Clock.Advance(commandstest.Longest)

	// when three instances expire them, each for many items of the list
	for _, keeper := range keepers {
		for range 10 {
			wait.Go(func() { expire(t, keeper, w.Stream(id)) })
		}
	}
	wait.Wait()

	// then each has expired once
	require.Len(t, w.expiries(w.Stream(id)), open)
	require.Empty(t, w.Books(id).Open)
}

func TestAReservationThatNoLedgerMadeExpiresToo(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	commandstest.Reserve(t, keeper, id, 1)
	w.Other(w.Stream(id), 1, ledger.Reserved{Account: id, Reservation: "by hand", Characters: 2, At: w.Clock.Now(),
		ExpiresAt: w.Clock.Now()})
	require.NotZero(t, expire(t, keeper, w.Stream(id)))
	require.NotEqual(t, uuid.Nil, w.expiries(w.Stream(id))["by hand"].Meta.CausationID)
}

// A clock that jumps expires no reservation: a reply in progress is billed.
func TestAClockThatJumpsExpiresNothing(t *testing.T) {
	for name, jump := range map[string]time.Duration{"a day forwards": 24 * time.Hour, "an hour back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			// given a reply in progress, and instances that have seen it, have not, and are restarted
			w := newWorld(t)
			id := w.Open("free")
			serving, witness, restarted := w.Ledger(), w.Ledger(), w.NewLedger()
			reply := commandstest.Reserve(t, serving, id, 9_000)
			stream := w.Stream(id)
			expire(t, witness, stream)
			expire(t, restarted, stream)
			restarted.Close()
			restarted = w.Ledger()

			// when the clock jumps, and the list shows the reservation as due to all of them
			w.Clock.Advance(time.Minute)
			w.Clock.Jump(jump)
			left := map[*commands.Ledger]time.Duration{
				serving: commandstest.Longest - time.Minute, witness: commandstest.Longest - time.Minute,
				restarted: commandstest.Longest, w.Ledger(): commandstest.Longest,
			}
			for keeper, after := range left {
				_, err := keeper.Expire(t.Context(), stream, reply.ID.String())
				var notYet *todo.NotYetError
				require.ErrorAs(t, err, &notYet)
				require.Equal(t, after, notYet.After)
				commandstest.Reserve(t, keeper, id, 1)
			}

			// then the reply is billed
			commandstest.Settle(t, serving, reply, 9_000)
			require.EqualValues(t, 9_000, w.BooksOf(stream).Settled)

			// and an unsettled reservation expires after it was seen for its lifetime, and not before
			w.Clock.Advance(commandstest.Longest - 1)
			expire(t, serving, stream)
			require.Len(t, w.BooksOf(stream).Open, len(left))
			w.Clock.Advance(1)
			expire(t, serving, stream)
			require.Empty(t, w.BooksOf(stream).Open)
		})
	}
}
