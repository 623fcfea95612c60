package journal_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

func TestExecuteAppendsWhatWasDecidedWithItsMetadata(t *testing.T) {
	// given a stream with an event
	w := newWorld(t)
	_, _, err := journal.Execute(t.Context(), w.other(), whole("counter-a"), add{"one", 1}, meta())
	require.NoError(t, err)

	// when an operator executes a command
	origin := journal.Origin{
		Actor:       eventlog.Actor{Kind: eventlog.ActorOperator, Name: "jane"},
		Correlation: "a request", Causation: uuid.New(),
	}
	command := uuid.New()
	at := time.Date(2026, 11, 22, 13, 0, 0, 0, time.FixedZone("", 3600))
	result, position, err := journal.Execute(t.Context(), w.Journal, whole("counter-a"), add{"two", 2},
		origin.Metadata(command, at))
	require.NoError(t, err)

	// then its event has the actor and the cause
	events := w.recorded("counter-a")
	require.Len(t, events, 2)
	last := events[1]
	require.Equal(t, added{"two", 2}, last.Event)
	require.Equal(t, journal.EventID(command), last.ID)
	require.Equal(t, eventlog.Metadata{
		CorrelationID: "a request", CausationID: origin.Causation, CommandID: command, Actor: origin.Actor, Version: 1,
		Time: noon,
	}, last.Meta)

	// and the state after it is returned, with its position
	require.Equal(t, w.folded("counter-a"), result)
	require.Equal(t, last.Position, position)
	observed := <-w.observed
	require.Positive(t, observed.Took)
	require.Equal(t, journal.Observation{Command: "journal_test.add", Took: observed.Took}, observed)
}

func TestACommandThatDecidesNothingReturnsWhereTheStreamEnds(t *testing.T) {
	w := newWorld(t)
	_, first, err := journal.Execute(t.Context(), w.Journal, whole("counter-a"), add{"one", 1}, meta())
	require.NoError(t, err)
	result, position, err := journal.Execute(t.Context(), w.Journal, whole("counter-a"), add{"one", 1}, meta())
	require.NoError(t, err)
	require.Equal(t, first, position)
	require.Equal(t, 1, result.Sum)
	require.Len(t, w.recorded("counter-a"), 1)
}

func TestARefusedCommandAppendsNothing(t *testing.T) {
	w := newWorld(t)
	appends, _ := w.log.cost(func() {
		_, _, err := journal.Execute(t.Context(), w.Journal, whole("counter-a"), add{"many", limit + 1}, meta())
		require.Equal(t, error(errLimit), err, "unchanged")
	})
	require.Zero(t, appends)
	require.Empty(t, w.recorded("counter-a"))
	require.Equal(t, error(errLimit), (<-w.observed).Err)
}

func TestACommandIsRepeatedAfterAnUnknownOutcome(t *testing.T) {
	for name, repeat := range map[string]func(w *world, meta journal.Metadata,
		cached *journal.Cached[state, counterEvent]) (state, error){
		"on a state that was kept": func(w *world, meta journal.Metadata, cached *journal.Cached[state, counterEvent]) (state,
			error) {
			result, _, err := cached.Execute(w.t.Context(), add{"one", 1}, meta)
			return result, err
		},
		"on a fresh state": func(w *world, meta journal.Metadata, _ *journal.Cached[state, counterEvent]) (state, error) {
			result, _, err := journal.Execute(w.t.Context(), w.Journal, withSnapshots("counter-a"), add{"one", 1}, meta)
			return result, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			// given an append with a lost response, and a snapshot
			w := newWorld(t)
			cached := journal.NewCached(w.Journal, withSnapshots("counter-a"))
			for i := range snapshotEvery - 1 {
				_, _, err := cached.Execute(t.Context(), add{fmt.Sprint(i), 1}, meta())
				require.NoError(t, err)
			}
			command := meta()
			w.log.lost = true
			_, _, err := cached.Execute(t.Context(), add{"one", 1}, command)
			require.Equal(t, domain.Unavailable, domain.CodeOf(err))
			require.Equal(t, snapshotEvery-1, cached.State().Sum, "as before")

			// when the command is repeated, then it succeeds, and its events are in the log once
			w.log.lost = false
			result, err := repeat(w, command, cached)
			require.NoError(t, err)
			require.Equal(t, snapshotEvery, result.Sum)
			events := w.recorded("counter-a")
			require.Len(t, events, snapshotEvery+1)
			require.Equal(t, journal.EventID(command.CommandID), events[snapshotEvery-1].ID)
			require.Equal(t, w.folded("counter-a"), result)

			// and the next command continues from there
			result, _, err = cached.Execute(t.Context(), add{"next", 1}, meta())
			require.NoError(t, err)
			require.Equal(t, w.folded("counter-a"), result)
			require.Equal(t, snapshotEvery+1, result.Sum)
		})
	}
}

func TestAConflictIsDecidedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		other add
		want  error
		sum   int
	}{
		"and accepted": {add{"other", 60}, nil, 90},
		"and refused":  {add{"other", 80}, errLimit, 80},
		"and repeated": {add{"mine", 30}, nil, 30},
	} {
		t.Run(name, func(t *testing.T) {
			// given another instance that appends between the read and the append
			w := newWorld(t)
			w.log.before = sync.OnceFunc(func() {
				_, _, err := journal.Execute(t.Context(), w.other(), whole("counter-a"), c.other, meta())
				assert.NoError(t, err)
			})

			// when a command is executed
			result, position, err := journal.Execute(t.Context(), w.Journal, whole("counter-a"), add{"mine", 30}, meta())

			// then it is decided on the current state
			require.ErrorIs(t, err, c.want)
			require.Equal(t, c.sum, result.Sum)
			events := w.recorded("counter-a")
			require.Equal(t, c.sum, w.folded("counter-a").Sum)
			require.Equal(t, events[len(events)-1].Position, position)
			require.Equal(t, 1, (<-w.observed).Conflicts)
		})
	}
}

func TestManyAtOnceKeepTheLimit(t *testing.T) {
	w := newWorld(t)
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			_, _, err := journal.Execute(t.Context(), w.Journal, withSnapshots("counter-a"), add{fmt.Sprint(i), 10}, meta())
			if err != nil {
				assert.ErrorIs(t, err, errLimit)
			}
		})
	}
	wait.Wait()
	require.Equal(t, limit, w.folded("counter-a").Sum)
	refused, conflicts := 0, 0
	for range 20 {
		observed := <-w.observed
		conflicts += observed.Conflicts
		if observed.Err != nil {
			refused++
		}
	}
	require.Equal(t, 10, refused)
	require.EqualValues(t, 10+conflicts, w.log.appends.Load(), "an append either succeeds or is a conflict")
}

func TestExecuteEndsWithItsContext(t *testing.T) {
	t.Run("before it reads", func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err := journal.Execute(ctx, w.Journal, whole("counter-a"), add{"one", 1}, meta())
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, w.recorded("counter-a"))
	})
	t.Run("while others append all the time", func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		w.log.before = func() {
			n++
			_, _, err := journal.Execute(t.Context(), w.other(), whole("counter-a"), add{fmt.Sprint(n), 1}, meta())
			require.NoError(t, err)
			if n == 3 {
				cancel()
			}
		}
		_, _, err := journal.Execute(ctx, w.Journal, whole("counter-a"), add{"mine", 1}, meta())
		require.ErrorIs(t, err, context.Canceled)
		require.NotContains(t, w.folded("counter-a").Names, "mine")
		require.Equal(t, 2, (<-w.observed).Conflicts)
	})
}

func TestAnEventOfAnotherAggregateIsAnError(t *testing.T) {
	w := newWorld(t)
	given := meta()
	proposed, err := w.Registry.Encode(given.CommandID, 0, given.Metadata, foreign{"secret"})
	require.NoError(t, err)
	_, err = w.log.Append(t.Context(), "counter-a", eventlog.NoStream, proposed)
	require.NoError(t, err)
	for _, s := range []stream{whole("counter-a"), withSnapshots("counter-a")} {
		_, _, err = journal.Execute(t.Context(), w.Journal, s, add{"one", 1}, meta())
		require.ErrorContains(t, err, "event 0 of counter-a is of type foreign-written")
		require.NotContains(t, err.Error(), "secret")
	}
	require.Len(t, w.recorded("counter-a"), 1)
}

func TestOrigins(t *testing.T) {
	cause := uuid.New()
	system := eventlog.Actor{Kind: eventlog.ActorSystem}
	require.Equal(t, journal.Origin{Actor: system}, journal.System())
	require.Equal(t, journal.Origin{Actor: system, Correlation: cause.String(), Causation: cause}, journal.CausedBy(cause))
}

// Derived ids are in the log: a release that derives others would repeat commands.
func TestDerivedIDsNeverChange(t *testing.T) {
	require.Equal(t, "85db3e15-b920-5967-9912-f5f98b1b6ced", journal.DeriveID("counter-a after 4", "snapshot").String())
	require.NotEqual(t, journal.DeriveID("a", "b"), journal.DeriveID("b", "a"))
}
