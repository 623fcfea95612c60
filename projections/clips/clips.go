// Package clips is the read model of saved clips.
package clips

import (
	"strconv"
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{newClips().model()}
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

// clips is the read model of clips.
type clips struct {
	table.Typed[clipRow]
	byTime, byLength, byVoice table.Ranking

	erasures table.Typed[erasureRow]
}

func newClips() clips {
	t := table.Of[clipRow]("clips").Index("clips_by_blob", "blob")
	facets := []string{"language", "debug"}
	return clips{
		Typed:    t,
		byTime:   t.Ranked("by_time", "account_id", []string{"saved_at", "clip_id"}, facets),
		byLength: t.Ranked("by_length", "account_id", []string{"characters", "saved_at", "clip_id"}, facets),
		byVoice:  t.Ranked("by_voice", "account_id", []string{"voice", "saved_at", "clip_id"}, facets),
		erasures: newErasures(),
	}
}

func (c clips) model() feed.Projection {
	return feed.Projection{
		Model:  readmodel.Clips,
		Tables: []*table.Table{c.Table, c.byTime.Table, c.byLength.Table, c.byVoice.Table, c.erasures.Table},
		Views: []feed.View{
			{View: readmodel.ClipsView, Select: `select clip_id, account_id, voice, language, speed::double precision as speed, characters, debug, saved_at,
				blob, bytes, media_type, sealed, '` + clip.SealedFor("") + `' || clip_id as sealed_for from clips`},
			{View: readmodel.ClipsByTimeView, Select: `select account_id, saved_at, clip_id, language, debug, rows as clips from by_time`},
			{View: readmodel.ClipsByLengthView, Select: `select account_id, characters, saved_at, clip_id, language, debug, rows as clips from by_length`},
			{View: readmodel.ClipsByVoiceView, Select: `select account_id, voice, saved_at, clip_id, language, debug, rows as clips from by_voice`},
			{View: readmodel.ToDoEraseClipsView.View, Select: toDoEraseClips},
		},
		Streams: eventlog.Streams{clip.StreamPrefix, account.StreamPrefix},
		Handle:  c.handle,
	}
}

func (c clips) handle(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case clip.Saved:
		c.saved(rows, e)
	case clip.Deleted:
		c.Delete(rows, clipRow{Clip: e.Clip})
	case account.Closed:
		c.closed(rows, event, e)
	case account.ErasureRepeated:
		c.erasures.Delete(rows, erasureRow{Account: e.Account})
	}
	return nil
}

func (c clips) saved(rows *table.Rows, e clip.Saved) {
	c.Put(rows, clipRow{
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
	})
}
