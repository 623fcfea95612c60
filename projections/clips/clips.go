// Package clips is the read model of saved clips.
package clips

import (
	"strconv"
	"time"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/feed"
	"github.com/recital-tts/recital/internal/feed/table"
	"github.com/recital-tts/recital/internal/readmodel"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{clipsModel()}
}

type clipRow struct {
	Clip       string    `col:"clip_id,key"`
	Account    string    `col:"account_id"`
	Voice      string    `col:"voice"`
	Language   string    `col:"language"`
	Speed      string    `col:"speed"` // a decimal number: no read model has floats
	Characters int64     `col:"characters"`
	Debug      bool      `col:"debug"`
	SavedAt    time.Time `col:"saved_at"`
	Blob       string    `col:"blob"`
	Bytes      int64     `col:"bytes"`
	MediaType  string    `col:"media_type"`
	Sealed     []byte    `col:"sealed"`
}

func clipsModel() feed.Projection {
	clips := table.Of[clipRow]("clips").
		Index("clips_by_time", "account_id", "saved_at", "clip_id").
		Index("clips_by_length", "account_id", "characters", "saved_at", "clip_id").
		Index("clips_by_voice", "account_id", "voice", "saved_at", "clip_id").
		Index("clips_by_blob", "blob")
	return feed.Projection{
		Model:  readmodel.Clips,
		Tables: []*table.Table{clips.Table},
		Views: []feed.View{
			{View: readmodel.ClipsView, Select: `select clip_id, account_id, voice, language, speed::double precision as speed, characters, debug, saved_at, blob, bytes, media_type, sealed, '` + clip.SealedFor("") + `' || clip_id as sealed_for from clips`},
		},
		Streams: eventlog.Streams{clip.StreamPrefix},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case clip.Saved:
				clips.Put(rows, savedRow(e))
			case clip.Deleted:
				clips.Delete(rows, clipRow{Clip: e.Clip})
			}
			return nil
		},
	}
}

func savedRow(e clip.Saved) clipRow {
	return clipRow{
		Clip:       e.Clip,
		Account:    e.Account,
		Voice:      e.Voice,
		Language:   e.Language,
		Speed:      strconv.FormatFloat(e.Speed, 'f', -1, 64),
		Characters: e.Characters,
		Debug:      e.Debug,
		SavedAt:    e.At,
		Blob:       e.Blob,
		Bytes:      e.Bytes,
		MediaType:  e.MediaType,
		Sealed:     e.Sealed,
	}
}
