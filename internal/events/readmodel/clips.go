package readmodel

import (
	"time"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// Clips is the read model of saved clips. Their content stays sealed. Version 2 adds numbers of clips and closed
// accounts. Version 3 adds numbers by media type.
var Clips = Model{Name: "clips", Version: 3}

// ClipRow is an existing clip.
type ClipRow struct {
	Clip       string    `col:"clip_id,key"`
	Account    string    `col:"account_id"`
	Voice      string    `col:"voice"`
	Language   string    `col:"language"`
	Speed      float64   `col:"speed"`
	Characters int64     `col:"characters"`
	Debug      bool      `col:"debug"`
	SavedAt    time.Time `col:"saved_at"`
	Blob       string    `col:"blob"`
	Bytes      int64     `col:"bytes"`
	MediaType  string    `col:"media_type"`
	Sealed     []byte    `col:"sealed"` // the content, for ContentUse
}

// ContentUse returns the purpose for which the content is sealed.
func (r ClipRow) ContentUse() string { return clip.SealedFor(r.Clip) }

// ClipsView shows all clips.
var ClipsView = Show(Clips, table.Of[ClipRow]("clips").Index("clips_by_blob", "blob"))

// ClipsByTimeView, ClipsByLengthView and ClipsByVoiceView show the ranges of an account's clips in an order, and count
// the clips of each language, debug and media type in them: see table.Ranking. The first clip of a range may be
// deleted.
var (
	ClipsByTimeView   = rankClips("clips_by_time", "saved_at", "clip_id")
	ClipsByLengthView = rankClips("clips_by_length", "characters", "saved_at", "clip_id")
	ClipsByVoiceView  = rankClips("clips_by_voice", "voice", "saved_at", "clip_id")
)

func rankClips(name string, by ...string) RankingView {
	facets := []string{"language", "debug", "media_type"}
	return ShowRanking(Clips, ClipsView.Ranked(name, "account_id", by, facets), "clips")
}

// ToDoEraseClipsView lists the closed accounts that have clips, including clips saved by a request that was still
// running. An item is the account; its cause is the event that closed it.
var ToDoEraseClipsView = NewToDo(Clips, "todo_erase_clips").
	Where(`exists (select from clips where clips.account_id = todo_erase_clips.item)`)
