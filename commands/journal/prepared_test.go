package journal_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/journal"
)

// Data from elsewhere is read after the stream, again after each conflict, and never recorded over a newer state.
func TestWhatIsReadElsewhereIsNeverOlderThanTheRevision(t *testing.T) {
	// given another instance that appends between the reads and the append, once
	w := newWorld(t)
	elsewhere, reads := 1, []int{}
	w.log.before = func() {
		if elsewhere == 1 {
			elsewhere = 2
			_, _, err := journal.Execute(t.Context(), w.other(), whole("counter-a"), add{"other", 10}, meta())
			require.NoError(t, err)
		}
	}

	// when a command with data from elsewhere is executed
	result, position, err := journal.Execute(t.Context(), w.Journal, whole("counter-a"),
		journal.Prepare(func(s state) (command, error) {
			reads = append(reads, s.Sum)
			return add{"mine", elsewhere}, nil
		}), meta())

	// then the newer data is recorded
	require.NoError(t, err)
	require.Equal(t, []int{0, 10}, reads)
	require.Equal(t, 12, result.Sum)
	events := w.recorded("counter-a")
	require.Equal(t, events[len(events)-1].Position, position)
	observed := <-w.observed
	require.Equal(t, journal.Observation{Command: "journal_test.add", Took: observed.Took, Conflicts: 1}, observed)
}

func TestWhatCannotBeReadElsewhereAppendsNothing(t *testing.T) {
	w := newWorld(t)
	away := errors.New("away")
	_, _, err := journal.Execute(t.Context(), w.Journal, whole("counter-a"), journal.Prepare(func(state) (command, error) {
		return nil, away
	}), meta())
	require.Equal(t, away, err, "unchanged")
	require.Empty(t, w.recorded("counter-a"))
	require.Empty(t, w.observed, "no command was there to observe")

	_, _, err = journal.Execute(t.Context(), w.Journal, whole("counter-a"), journal.Prepare(func(state) (command, error) {
		return add{"many", limit + 1}, nil
	}), meta())
	require.Equal(t, error(errLimit), err, "unchanged")
	require.Empty(t, w.recorded("counter-a"))
}
