package clips_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/projections/clips"
)

// formerRow is a clip in version 1 of the read model: with its speed as a decimal number, and not counted.
type formerRow struct {
	Clip       string    `col:"clip_id,key"`
	Account    string    `col:"account_id"`
	Voice      string    `col:"voice"`
	Language   string    `col:"language"`
	Speed      string    `col:"speed"`
	Characters int64     `col:"characters"`
	Debug      bool      `col:"debug"`
	SavedAt    time.Time `col:"saved_at"`
	Blob       string    `col:"blob"`
	Bytes      int64     `col:"bytes"`
	MediaType  string    `col:"media_type"`
	Sealed     []byte    `col:"sealed"`
}

var formerView = readmodel.Show(readmodel.Model{Name: "clips", Version: 1}, table.Of[formerRow]("clips").
	Index("clips_by_time", "account_id", "saved_at", "clip_id").
	Index("clips_by_length", "account_id", "characters", "saved_at", "clip_id").
	Index("clips_by_voice", "account_id", "voice", "saved_at", "clip_id").
	Index("clips_by_blob", "blob"))

// former is version 1 of the read model.
var former = feed.Projection{
	Model:   formerView.Model,
	Streams: eventlog.Streams{clip.StreamPrefix},
	Tables:  []*table.Table{formerView.Table},
	Views:   []readmodel.View{formerView.View},
	Handle: func(event eventlog.Decoded, rows *table.Rows) error {
		switch e := event.Event.(type) {
		case clip.Saved:
			formerView.Put(rows, formerRow{
				Clip: e.Clip, Account: e.Account, Voice: e.Voice, Language: e.Language,
				Speed: strconv.FormatFloat(e.Speed, 'f', -1, 64), Characters: e.Characters, Debug: e.Debug, SavedAt: e.At,
				Blob: e.Blob, Bytes: e.Bytes, MediaType: e.MediaType, Sealed: e.Sealed,
			})
		case clip.Deleted:
			formerView.Delete(rows, formerRow{Clip: e.Clip})
		}
		return nil
	},
}

var formerSuite = feedtest.Suite{Events: suite.Events, Projections: []feed.Projection{former}}

// An upgrade to another version of a read model works like this: each version has its own tables and views, and no rows
// are moved by hand.
func TestThisVersionStartsBesideVersionOne(t *testing.T) {
	// given rows of version 1, which keeps running
	w := formerSuite.World(t)
	earlier := w.Projector
	w.Write(t, "clip-c1", saved(1))

	// when the present version starts on the same data, then it has all rows without intervention
	w.Project(t, clips.ReadModels()...)
	require.Equal(t, []readmodel.ClipRow{row(1)}, shown(t, w, "a1"))

	// and new events are in the rows of both
	w.Write(t, "clip-c2", saved(2))
	require.Equal(t, []readmodel.ClipRow{row(1), row(2)}, shown(t, w, "a1"))
	head, err := w.Log.Head(t.Context())
	require.NoError(t, err)
	require.NoError(t, earlier.Wait(t.Context(), head))
	require.Len(t, feedtest.Shown(t, w, formerView, `where account_id = 'a1'`), 2)
}
