package journal_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/journal"
)

func TestAKeptStateNeedsNoRead(t *testing.T) {
	w := newWorld(t)
	cached := journal.NewCached(w.Journal, whole("counter-a"))
	for i := range 10 {
		appends, reads := w.log.cost(func() {
			_, position, err := cached.Execute(t.Context(), add{fmt.Sprint(i), 1}, meta())
			require.NoError(t, err)
			require.Equal(t, cached.Version().Position, position)
		})
		require.EqualValues(t, 1, appends)
		require.Zero(t, reads)
	}
	require.Equal(t, w.folded("counter-a"), cached.State())
	require.EqualValues(t, 9, cached.Version().Revision)
}

func TestAStaleStateDecidesOnlyWhatIsAppended(t *testing.T) {
	for name, c := range map[string]struct {
		kept      []add // appended through the cache
		other     []add // appended by another instance
		when      add
		reads     int64 // events read
		conflicts int
		want      error
		sum       int
	}{
		"accepted, after a conflict":             {nil, []add{{"other", 50}}, add{"mine", 10}, 2, 1, nil, 60},
		"refused, after a conflict":              {nil, []add{{"other", 95}}, add{"mine", 10}, 2, 1, errLimit, 95},
		"refused, on a state that is up to date": {[]add{{"kept", 95}}, nil, add{"mine", 10}, 1, 0, errLimit, 95},
		"a refusal that is out of date": {[]add{{"kept", 95}}, []add{{"other", -50}}, add{"mine", 10}, 2, 0, nil,
			55},
		"nothing to do":                 {[]add{{"mine", 10}}, nil, add{"mine", 10}, 1, 0, nil, 10},
		"nothing to do, as others know": {nil, []add{{"mine", 10}}, add{"mine", 10}, 2, 1, nil, 10},
		"only what is newer is read": {[]add{{"a", 1}, {"b", 1}, {"c", 1}}, []add{{"d", 1}}, add{"mine", 1}, 2, 1,
			nil, 5},
	} {
		t.Run(name, func(t *testing.T) {
			// given a cached state, and events of another instance that it lacks
			w := newWorld(t)
			cached := journal.NewCached(w.Journal, whole("counter-a"))
			for _, a := range append([]add{{"first", 0}}, c.kept...) {
				_, _, err := cached.Execute(t.Context(), a, meta())
				require.NoError(t, err)
				<-w.observed
			}
			for _, a := range c.other {
				_, _, err := journal.Execute(t.Context(), w.other(), whole("counter-a"), a, meta())
				require.NoError(t, err)
			}

			// when a command is executed on it, then the result is the log's
			_, reads := w.log.cost(func() {
				result, _, err := cached.Execute(t.Context(), c.when, meta())
				require.ErrorIs(t, err, c.want)
				require.Equal(t, c.sum, result.Sum)
			})
			require.Equal(t, c.reads, reads)
			require.Equal(t, w.folded("counter-a"), cached.State())
			require.Equal(t, c.conflicts, (<-w.observed).Conflicts)
		})
	}
}

func TestALogThatWasPutBackIsReadAnew(t *testing.T) {
	for name, kept := range map[string][]add{"to an earlier state": {{"old", 3}}, "to before the stream": nil} {
		t.Run(name, func(t *testing.T) {
			// given a cached state, and an earlier copy of the log
			w, earlier := newWorld(t), newWorld(t)
			cached := journal.NewCached(w.Journal, whole("counter-a"))
			for _, a := range kept {
				_, _, err := journal.Execute(t.Context(), earlier.Journal, whole("counter-a"), a, meta())
				require.NoError(t, err)
			}
			for _, a := range append(kept, add{"lost", 20}, add{"lost, too", 20}) {
				_, _, err := cached.Execute(t.Context(), a, meta())
				require.NoError(t, err)
			}

			// when the copy replaces the log, and a command is executed
			w.log.Log = earlier.log.Log
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			appends, _ := w.log.cost(func() {
				_, _, err := cached.Execute(ctx, add{"new", 1}, meta())
				require.NoError(t, err)
			})

			// then it is decided on the copy, after one conflict
			require.EqualValues(t, 2, appends)
			require.Equal(t, w.folded("counter-a"), cached.State())
			require.Len(t, w.recorded("counter-a"), len(kept)+1)
		})
	}
}

func TestABatchIsOneAppend(t *testing.T) {
	// given commands of which one is refused
	w := newWorld(t)
	cached := journal.NewCached(w.Journal, whole("counter-a"))
	var refusals []error
	first, last := meta(), meta()
	decide := func(batch *journal.Batch[state, counterEvent]) {
		before := batch.State().Sum
		refusals = []error{
			batch.Add(add{"one", 60}, first), batch.Add(add{"two", 60}, meta()), batch.Add(add{"three", 40}, last),
		}
		require.Equal(t, before+100, batch.State().Sum)
	}

	// when they are executed together, then the others are appended together, each with its metadata
	appends, _ := w.log.cost(func() {
		conflicts, err := cached.Batch(t.Context(), decide)
		require.NoError(t, err)
		require.Zero(t, conflicts)
	})
	require.EqualValues(t, 1, appends)
	require.Equal(t, []error{nil, errLimit, nil}, refusals)
	events := w.recorded("counter-a")
	require.Len(t, events, 2)
	require.Equal(t, first.CommandID, events[0].Meta.CommandID)
	require.Equal(t, last.CommandID, events[1].Meta.CommandID)
	require.Equal(t, limit, cached.State().Sum)
}

func TestASequenceIsAllOrNothing(t *testing.T) {
	type sequence = journal.Sequence[state, counterEvent]
	w := newWorld(t)

	// when the second command of two is refused, because of the first one, then neither is appended
	_, _, err := journal.Execute(t.Context(), w.Journal, whole("counter-a"),
		sequence{Evolve: evolve, Commands: []command{add{"one", 60}, add{"two", 60}}}, meta())
	require.ErrorIs(t, err, errLimit)
	require.Empty(t, w.recorded("counter-a"))
	require.Equal(t, "journal_test.add", (<-w.observed).Command)

	// when both are accepted, then both are in one append, as one command
	given := meta()
	appends, _ := w.log.cost(func() {
		_, _, err = journal.Execute(t.Context(), w.Journal, whole("counter-a"),
			sequence{Evolve: evolve, Commands: []command{add{"one", 60}, add{"one", 60}, add{"two", 40}}}, given)
		require.NoError(t, err)
	})
	require.EqualValues(t, 1, appends)
	events := w.recorded("counter-a")
	require.Len(t, events, 2)
	require.Equal(t, journal.EventID(given.CommandID), events[0].ID)
	require.Equal(t, given.CommandID, events[1].Meta.CommandID)
	require.Equal(t, limit, w.folded("counter-a").Sum)
}

func TestAStreamThatIsTakenForNew(t *testing.T) {
	fresh := whole("counter-a")
	fresh.New = true
	t.Run("costs one append", func(t *testing.T) {
		w := newWorld(t)
		appends, reads := w.log.cost(func() {
			_, _, err := journal.Execute(t.Context(), w.Journal, fresh, add{"one", 1}, meta())
			require.NoError(t, err)
		})
		require.EqualValues(t, 1, appends)
		require.Zero(t, reads)
	})
	t.Run("is read where it is not", func(t *testing.T) {
		w := newWorld(t)
		_, _, err := journal.Execute(t.Context(), w.other(), fresh, add{"one", 1}, meta())
		require.NoError(t, err)
		result, _, err := journal.Execute(t.Context(), w.Journal, fresh, add{"one", 1}, meta())
		require.NoError(t, err)
		require.Equal(t, 1, result.Sum, "decided on what is there")
		require.Len(t, w.recorded("counter-a"), 1)
	})
}
