// Package voices is the read model of accounts' voices, and of what is to be done for them.
package voices

import (
	"time"

	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{newVoices().model()}
}

type voiceRow struct {
	Voice     string      `col:"voice_id,key"`
	Account   string      `col:"account_id"`
	Type      voice.Type  `col:"type"`
	Phase     voice.Phase `col:"state"`
	Reason    string      `col:"reason"`
	Sealed    []byte      `col:"sealed"`
	CreatedAt time.Time   `col:"created_at"`
}

type starRow struct {
	Account string `col:"account_id,key"`
	Voice   string `col:"voice_id,key"`
}

// countRow is how many places the voices of an account take.
type countRow struct {
	Account      string `col:"account_id,key"`
	Instant      int64  `col:"instant"`
	Professional int64  `col:"professional"`
}

// voices is the read model of voices.
type voices struct {
	table.Typed[voiceRow]
	phase  table.Field[voiceRow, voice.Phase]
	reason table.Field[voiceRow, string]
	sealed table.Field[voiceRow, []byte]

	stars  table.Typed[starRow]
	counts table.Sums[countRow]
	steps
}

func newVoices() voices {
	t := table.Of[voiceRow]("voices").Index("voices_of_account", "account_id", "created_at", "voice_id")
	return voices{
		Typed:  t,
		phase:  table.FieldOf(t, func(r *voiceRow) *voice.Phase { return &r.Phase }),
		reason: table.FieldOf(t, func(r *voiceRow) *string { return &r.Reason }),
		sealed: table.FieldOf(t, func(r *voiceRow) *[]byte { return &r.Sealed }),
		stars:  table.Of[starRow]("stars"),
		counts: table.SumsOf[countRow]("counts"),
		steps:  newSteps(),
	}
}

func (v voices) model() feed.Projection {
	return feed.Projection{
		Model:  readmodel.Voices,
		Tables: []*table.Table{v.Table, v.stars.Table, v.counts.Table, v.steps.Table},
		Views: append([]feed.View{
			{View: readmodel.VoicesView, Select: `select voice_id, account_id, type, state, reason, sealed, created_at,
				exists (select from stars as s where s.account_id = v.account_id and s.voice_id = v.voice_id) as starred from voices as v`},
			{View: readmodel.StarsView, Select: `select account_id, voice_id from stars`},
			{View: readmodel.VoiceCountsView, Select: `select account_id, instant, professional from counts`},
		}, v.steps.views()...),
		Streams: eventlog.Streams{voice.StreamPrefix, roster.StreamPrefix, star.StreamPrefix},
		Handle:  v.handle,
	}
}

func (v voices) handle(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case voice.Created:
		v.Put(rows, voiceRow{Voice: e.Voice, Account: e.Account, Type: e.Type, Phase: voice.Preparing, Sealed: e.Sealed, CreatedAt: e.At})
	case voice.Changed:
		v.sealed.Set(rows, voiceRow{Voice: e.Voice}, e.Sealed)
	case voice.Queued:
		v.phase.Set(rows, voiceRow{Voice: e.Voice}, voice.Pending)
	case voice.TrainingBegun:
		v.phase.Set(rows, voiceRow{Voice: e.Voice}, voice.Training)
	case voice.Ready:
		v.phase.Set(rows, voiceRow{Voice: e.Voice}, voice.Speaking)
	case voice.Broken:
		v.phase.Set(rows, voiceRow{Voice: e.Voice}, voice.Unusable)
		v.reason.Set(rows, voiceRow{Voice: e.Voice}, e.Message)
	case voice.Deleted:
		v.Delete(rows, voiceRow{Voice: e.Voice})
	case star.Starred:
		v.stars.Put(rows, starRow{Account: e.Account, Voice: e.Voice})
	case star.Unstarred:
		v.stars.Delete(rows, starRow{Account: e.Account, Voice: e.Voice})
	case roster.PlaceTaken:
		v.count(rows, e.Account, e.Type, 1)
	case roster.PlaceFreed:
		v.count(rows, e.Account, e.Type, -1)
	}
	v.steps.handle(event, rows)
	return nil
}

func (v voices) count(rows *table.Rows, account string, of voice.Type, places int64) {
	row := countRow{Account: account}
	switch of {
	case voice.Instant:
		row.Instant = places
	case voice.Professional:
		row.Professional = places
	}
	v.counts.Add(rows, row)
}
