package app_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
)

// joinLog returns a separate client of the event node of a running recitald.
func joinLog(t testing.TB, dataDir string) *journal.Journal {
	t.Helper()
	log, err := esdb.Open(esdb.Config{Socket: filepath.Join(dataDir, "eventnode", "node.sock")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	registry, err := app.Registry()
	require.NoError(t, err)
	return &journal.Journal{Log: log, Registry: registry}
}

// appendTo appends events to a stream, and returns the revision of the last one.
func appendTo(
	t testing.TB, j *journal.Journal, stream string, expected eventlog.Revision, events ...any,
) eventlog.Revision {
	t.Helper()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Now()}
	proposed, err := j.Registry.Encode(uuid.New(), 0, meta, events...)
	require.NoError(t, err)
	appended, err := j.Log.Append(t.Context(), stream, expected, proposed)
	require.NoError(t, err)
	return appended.Revision
}

// eventsOf returns the events of a stream from a revision on.
func eventsOf(t testing.TB, j *journal.Journal, stream string, from uint64) (events []eventlog.Decoded) {
	t.Helper()
	for recorded, err := range j.Log.ReadStream(t.Context(), stream, from) {
		require.NoError(t, err)
		decoded, err := j.Registry.Decode(recorded)
		require.NoError(t, err)
		events = append(events, decoded)
	}
	return events
}
