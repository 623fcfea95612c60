package clips_test

import (
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/projections/clips"
)

// This is the pattern of an upgrade to another version of a read model: both are there, and nobody moves rows by hand.
func TestVersion2StartsBesideVersion1(t *testing.T) {
	// given the tables of version 1 with a row, and an event that is in the log since
	w := feedtest.New(t, feedtest.Registry(t, suite.Events))
	tables, err := os.ReadFile("testdata/readmodels/clips.v1.sql")
	require.NoError(t, err)
	for _, sql := range []string{string(tables), `
		insert into feed.checkpoints (name, version, generation, live, log_id, epoch)
		values ('clips', 1, 1, true, gen_random_uuid(), 1)`, `
		insert into rm_clips_v1_g1.clips
		values ('c0', 'a1', 'leah', 'en-us', '1', 7, false, now(), 'b0', 9, 'audio/mpeg', '')`,
	} {
		_, err := w.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: now}
	saved := clip.Saved{Clip: "c1", Account: "a1", Voice: "leah", Blob: "b1", Sealed: []byte{1}, At: now}
	proposed, err := w.Registry.Encode(uuid.New(), 0, meta, saved)
	require.NoError(t, err)
	_, err = w.Log.Append(t.Context(), clip.Stream("c1"), eventlog.NoStream, proposed)
	require.NoError(t, err)

	// when version 2 starts, then it builds its rows from the log
	w.Project(t, clips.ReadModels()...)
	type row struct{ ID string }
	require.Equal(t, []row{{"c1"}}, feedtest.Rows[row](t, w, `select clip_id from read_v2.clips`))

	// and version 1 is as it was, for the instances that still read it
	require.Equal(t, []row{{"c0"}}, feedtest.Rows[row](t, w, `select clip_id from read_v1.clips`))
	type generation struct {
		Version int
		Live    bool
	}
	require.Equal(t, []generation{{1, true}, {2, true}},
		feedtest.Rows[generation](t, w, `select version, live from feed.generations order by version`))
}
