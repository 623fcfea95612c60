package journal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

func TestAStreamThatWasNeverWritten(t *testing.T) {
	w := newWorld(t)
	onlyEvent := whole("counter-a")
	onlyEvent.Only = uuid.New()
	for name, s := range map[string]stream{"whole": whole("counter-a"), "with snapshots": withSnapshots("counter-a"),
		"only an event": onlyEvent} {
		t.Run(name, func(t *testing.T) {
			loaded, version, err := journal.Load(t.Context(), w.Journal, s)
			require.NoError(t, err)
			require.Zero(t, loaded)
			require.Equal(t, journal.Version{Revision: eventlog.NoStream}, version)
		})
	}
}

func TestASnapshotIsAppendedWithTheEventsThatMakeItDue(t *testing.T) {
	// given a stream on which a snapshot is due with the next event
	w := newWorld(t)
	for i := range snapshotEvery - 1 {
		_, _, err := journal.Execute(t.Context(), w.Journal, withSnapshots("counter-a"), add{fmt.Sprint(i), 1}, meta())
		require.NoError(t, err)
	}
	require.Len(t, w.recorded("counter-a"), snapshotEvery-1)

	// when that is appended, then the snapshot is in the same append
	appends, _ := w.log.cost(func() {
		_, _, err := journal.Execute(t.Context(), w.Journal, withSnapshots("counter-a"), add{"last", 1}, meta())
		require.NoError(t, err)
	})
	require.EqualValues(t, 1, appends)
	events := w.recorded("counter-a")
	require.Len(t, events, snapshotEvery+1)
	snapshot := events[snapshotEvery]
	require.Equal(t, snapshotTaken{Sum: snapshotEvery, Names: []string{"0", "1", "2", "3", "last"}}, snapshot.Event)

	// and its id derives from the version before
	id := journal.DeriveID("counter-a after 3", "snapshot")
	require.Equal(t, journal.EventID(id), snapshot.ID)
	require.Equal(t, journal.System().Metadata(id, noon).Actor, snapshot.Meta.Actor)
	require.Equal(t, noon, snapshot.Meta.Time)
}

// For any history of several instances, a load since the snapshot equals one of the whole stream, and reads no more
// than necessary.
func TestSinceSnapshotEqualsTheWholeStream(t *testing.T) {
	w := newWorld(t)
	streams := 0
	rapid.Check(t, func(rt *rapid.T) {
		streams++
		name := fmt.Sprint("counter-", streams)
		instances := []*journal.Cached[state, counterEvent]{
			journal.NewCached(w.Journal, withSnapshots(name)), journal.NewCached(w.Journal, withSnapshots(name)),
			journal.NewCached(w.Journal, whole(name)), // one that takes no snapshots
		}
		for range rapid.IntRange(1, 30).Draw(rt, "commands") {
			instance := rapid.SampledFrom(instances).Draw(rt, "instance")
			number := rapid.IntRange(-20, 40).Draw(rt, "number")
			given := add{fmt.Sprint(rapid.IntRange(0, 20).Draw(rt, "name")), number}
			before := w.folded(name)
			result, _, err := instance.Execute(t.Context(), given, meta())
			<-w.observed
			want, refusal := given.Decide(before)
			require.Equal(rt, refusal, err, "decided as on the whole stream")
			require.Equal(rt, sumAfter(before, want), result.Sum)
			require.Equal(rt, w.folded(name), instance.State())
		}

		events := w.recorded(name)
		_, reads := w.log.cost(func() {
			loaded, version, err := journal.Load(t.Context(), w.Journal, withSnapshots(name))
			require.NoError(rt, err)
			require.Equal(rt, w.folded(name), loaded)
			require.EqualValues(rt, len(events)-1, version.Revision)
			if len(events) > 0 {
				require.Equal(rt, events[len(events)-1].Position, version.Position)
			}
		})
		require.LessOrEqual(rt, reads, int64(sinceSnapshot(events)+1), "no more than the snapshot and what is after it")
	})
}

func sumAfter(s state, events []counterEvent) int {
	for _, event := range events {
		s = evolve(s, event)
	}
	return s.Sum
}

// sinceSnapshot counts the events after the last snapshot.
func sinceSnapshot(events []eventlog.Decoded) (n int) {
	for _, event := range events {
		n++
		if _, is := event.Event.(snapshotTaken); is {
			n = 0
		}
	}
	return n
}

func TestOnlyEventReadsBackToTheEventOfACommand(t *testing.T) {
	// given an endless stream with the event of a command
	w := newWorld(t)
	command := meta()
	endless := func(command journal.Metadata) stream {
		s := whole("counters")
		s.Only = journal.EventID(command.CommandID)
		return s
	}
	for i := range 30 {
		given := meta()
		if i == 20 {
			given = command
		}
		_, _, err := journal.Execute(t.Context(), w.Journal, endless(given), add{fmt.Sprint(i), limit}, given)
		require.NoError(t, err, "others do not matter")
	}

	// when the command is repeated, then only the events back to its own are read, and it is not appended again
	appends, reads := w.log.cost(func() {
		result, position, err := journal.Execute(t.Context(), w.Journal, endless(command), add{"20", limit}, command)
		require.NoError(t, err)
		require.Equal(t, state{Sum: limit, Names: []string{"20"}, Since: 1}, result)
		require.Equal(t, w.recorded("counters")[29].Position, position)
	})
	require.Zero(t, appends)
	require.EqualValues(t, 10, reads)

	// and a conflict with others is decided again
	w.log.before = onceExecute(t, w.other(), endless(meta()), add{"other", 1})
	given := meta()
	_, _, err := journal.Execute(t.Context(), w.Journal, endless(given), add{"new", 1}, given)
	require.NoError(t, err)
	require.Len(t, w.recorded("counters"), 32)
}

// onceExecute returns a function that executes a command at its first call.
func onceExecute(t *testing.T, j *journal.Journal, s stream, c command) func() {
	return onceFor(func() {
		_, _, err := journal.Execute(t.Context(), j, s, c, meta())
		require.NoError(t, err)
	})
}

// onceFor returns a function that calls f at its first call.
func onceFor(f func()) func() {
	done := false
	return func() {
		if !done {
			done = true
			f()
		}
	}
}

// A command is decided on all events, whatever another instance appends between a load and its append, snapshots
// included.
func TestAnotherWriterBetweenLoadAndAppend(t *testing.T) {
	w := newWorld(t)
	for name, as := range map[string]func(string) stream{"whole": whole, "with snapshots": withSnapshots} {
		for others := range 3 * snapshotEvery {
			t.Run(fmt.Sprint(name, " ", others), func(t *testing.T) {
				// given a cached state
				s := as(fmt.Sprintf("counter-%s-%d", strings.ReplaceAll(name, " ", "-"), others))
				kept := journal.NewCached(w.Journal, s)
				_, _, err := kept.Execute(t.Context(), add{"first", 1}, meta())
				require.NoError(t, err)

				// when another instance appends, and reaches the limit with its last command
				w.log.before = onceFor(func() {
					for i := range others {
						_, _, err := journal.Execute(t.Context(), w.other(), withSnapshots(s.Name), add{fmt.Sprint(i), 1}, meta())
						require.NoError(t, err)
					}
					_, _, err := journal.Execute(t.Context(), w.other(), withSnapshots(s.Name), add{"last", limit - 1 - others},
						meta())
					require.NoError(t, err)
				})
				_, _, err = kept.Execute(t.Context(), add{"one too many", 1}, meta())

				// then the limit is kept, and all events count
				require.ErrorIs(t, err, errLimit)
				require.Equal(t, w.folded(s.Name), kept.State())
				require.Equal(t, limit, kept.State().Sum)
			})
		}
	}
}
