package journal_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// spoil appends an event that cannot be decoded to the end of a stream.
func (w *world) spoil(stream string, after eventlog.Revision) uuid.UUID {
	w.t.Helper()
	event := eventlog.Proposed{ID: uuid.New(), Type: "counter-painted", Data: []byte(`{}`), Metadata: []byte(`{"v":1}`)}
	_, err := w.log.Append(w.t.Context(), stream, after, []eventlog.Proposed{event})
	require.NoError(w.t, err)
	return event.ID
}

func TestASkippedEventMovesTheVersionAndNotTheState(t *testing.T) {
	for name, of := range map[string]stream{"whole": whole("counter-a"), "since a snapshot": withSnapshots("counter-a")} {
		t.Run(name, func(t *testing.T) {
			// given a stream with an event that cannot be decoded
			w := newWorld(t)
			kept := journal.NewCached(w.Journal, of)
			_, _, err := kept.Execute(t.Context(), add{"first", 1}, meta())
			require.NoError(t, err)
			event := w.spoil("counter-a", kept.Version().Revision)
			_, _, err = kept.Execute(t.Context(), add{"second", 1}, meta())
			require.ErrorIs(t, err, eventlog.ErrUnknownType)

			// when it is skipped, then commands continue after it
			w.Registry.Skip(map[uuid.UUID]string{event: "counter-a"})
			_, _, err = kept.Execute(t.Context(), add{"second", 1}, meta())
			require.NoError(t, err)
			require.EqualValues(t, 2, kept.Version().Revision)
			require.Equal(t, 2, kept.State().Sum)

			// and without a snapshot, which would permanently lack the event
			for i := range 3 * snapshotEvery {
				_, _, err = kept.Execute(t.Context(), add{fmt.Sprint(i), 0}, meta())
				require.NoError(t, err)
			}
			for _, recorded := range w.recorded("counter-a") {
				require.NotEqual(t, "counter-snapshot-taken", recorded.Type)
			}

			// when it is unskipped, then the state without it is not used any more
			w.Registry.Skip(nil)
			_, _, err = kept.Execute(t.Context(), add{"third", 1}, meta())
			require.ErrorIs(t, err, eventlog.ErrUnknownType)
		})
	}
}

func TestWhatHappenedOnceIsKnownByItsType(t *testing.T) {
	w := newWorld(t)
	inSnapshot := func(e counterEvent) (bool, bool) { _, is := e.(snapshotTaken); return false, is }
	happened := func() bool {
		t.Helper()
		is, err := journal.Happened[counterEvent](t.Context(), w.Journal, "counter-a", added{}, inSnapshot)
		require.NoError(t, err)
		return is
	}
	require.False(t, happened())
	w.spoil("counter-a", eventlog.NoStream)
	require.False(t, happened())

	// given an event of that type with broken metadata, and a later one that cannot be decoded
	broken := eventlog.Proposed{ID: uuid.New(), Type: "counter-added", Data: []byte(`[]`), Metadata: []byte(`[]`)}
	_, err := w.log.Append(t.Context(), "counter-a", 0, []eventlog.Proposed{broken})
	require.NoError(t, err)
	w.spoil("counter-a", 1)
	require.True(t, happened())

	// and after a snapshot without it older events are not read
	as := meta()
	proposed, err := w.Registry.Encode(as.CommandID, 0, as.Metadata, snapshotTaken{})
	require.NoError(t, err)
	_, err = w.log.Append(t.Context(), "counter-a", 2, proposed)
	require.NoError(t, err)
	require.False(t, happened())
}
