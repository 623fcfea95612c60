// Package clips holds the read model of saved clips.
package clips

import (
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/projections"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{{
		Model:   readmodel.Clips,
		Streams: eventlog.Streams{clip.StreamPrefix, account.StreamPrefix},
		Tables:  []*table.Table{clips.Table, byTime.Table, byLength.Table, byVoice.Table, erasures.Table},
		Views:   []readmodel.View{clips.View, byTime.View, byLength.View, byVoice.View, erasures.View},
		Handle:  handle,
	}}
}

var (
	clips    = readmodel.ClipsView
	byTime   = readmodel.ClipsByTimeView
	byLength = readmodel.ClipsByLengthView
	byVoice  = readmodel.ClipsByVoiceView
	erasures = readmodel.ToDoEraseClipsView
)

// handle keeps the row of a closed account until no more clips of it can be saved. There are few such rows.
func handle(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case clip.Saved:
		clips.Put(rows, readmodel.ClipRow{
			Clip: e.Clip, Account: e.Account, Voice: e.Voice, Language: e.Language, Speed: e.Speed,
			Characters: e.Characters, Debug: e.Debug, SavedAt: e.At,
			Blob: e.Blob, Bytes: e.Bytes, MediaType: e.MediaType, Sealed: e.Sealed,
		})
	case clip.Deleted:
		clips.Delete(rows, readmodel.ClipRow{Clip: e.Clip})
	case account.Closed:
		erasures.Put(rows, projections.ToDo(event, e.Account, e.At))
	case account.ErasureRepeated:
		erasures.Delete(rows, readmodel.ToDoRow{Item: e.Account})
	}
	return nil
}
