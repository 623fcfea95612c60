// Package clips holds the read model of saved clips.
package clips

import (
	"strconv"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/feed"
	"github.com/recital-tts/recital/internal/feed/table"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection { return []feed.Projection{Clips()} }

// Clips is the read model of the clips that are there. What was said stays sealed.
//
// View: clips (clip_id, account_id, voice, language, speed, characters, debug, saved_at, blob, bytes, media_type, sealed,
// sealed_for).
func Clips() feed.Projection {
	clips := table.New("clips",
		table.Column{Name: "clip_id", Type: table.Text, Key: true},
		table.Column{Name: "account_id", Type: table.Text},
		table.Column{Name: "voice", Type: table.Text},
		table.Column{Name: "language", Type: table.Text},
		table.Column{Name: "speed", Type: table.Text}, // a decimal number: no read model has floats
		table.Column{Name: "characters", Type: table.Bigint},
		table.Column{Name: "debug", Type: table.Bool},
		table.Column{Name: "saved_at", Type: table.Timestamptz},
		table.Column{Name: "blob", Type: table.Text},
		table.Column{Name: "bytes", Type: table.Bigint},
		table.Column{Name: "media_type", Type: table.Text},
		table.Column{Name: "sealed", Type: table.Bytea},
	).
		Index("clips_by_time", "account_id", "saved_at", "clip_id").
		Index("clips_by_length", "account_id", "characters", "saved_at", "clip_id").
		Index("clips_by_voice", "account_id", "voice", "saved_at", "clip_id").
		Index("clips_by_blob", "blob")

	return feed.Projection{
		Name:    "clips",
		Version: 1,
		Tables:  []*table.Table{clips},
		Views: []feed.View{
			{Name: "clips", Select: `select clip_id, account_id, voice, language, speed::double precision as speed, characters, debug, saved_at, blob, bytes, media_type, sealed, '` + clip.SealedFor("") + `' || clip_id as sealed_for from clips`},
		},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case clip.Saved:
				rows.Put(clips, e.Clip, e.Account, e.Voice, e.Language, decimal(e.Speed), e.Characters, e.Debug, e.At, e.Blob, e.Bytes, e.MediaType, e.Sealed)
			case clip.Deleted:
				rows.Delete(clips, table.Key{e.Clip})
			}
			return nil
		},
	}
}

func decimal(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }
