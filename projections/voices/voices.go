// Package voices holds the read model of accounts' voices and of stars, and the to-do lists for voices.
package voices

import (
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
	return []feed.Projection{{
		Model:   readmodel.Voices,
		Streams: eventlog.Streams{voice.StreamPrefix, roster.StreamPrefix, star.StreamPrefix},
		Tables:  []*table.Table{voices.Table, stars.Table, steps.Table},
		Views: []readmodel.View{
			voices.View, stars.View,
			readmodel.ToDoSettleVoicePlaceView.View, readmodel.ToDoPrepareVoiceView.View, readmodel.ToDoTrainVoiceView.View,
			readmodel.ToDoRenderVoicePreviewView.View, readmodel.ToDoEraseVoiceView.View,
		},
		Handle: handle,
	}}
}

var (
	voices = readmodel.VoicesView
	phase  = voices.Fields("state")
	broken = voices.Fields("state", "reason")
	sealed = voices.Fields("sealed")
	stars  = readmodel.StarsView
)

func handle(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case voice.Created:
		voices.Put(rows, readmodel.VoiceRow{
			Voice: e.Voice, Account: e.Account, Type: e.Type, Phase: voice.Preparing, Sealed: e.Sealed, CreatedAt: e.At,
		})
	case voice.Changed:
		sealed.Set(rows, readmodel.VoiceRow{Voice: e.Voice, Sealed: e.Sealed})
	case voice.Queued:
		phase.Set(rows, readmodel.VoiceRow{Voice: e.Voice, Phase: voice.Pending})
	case voice.TrainingBegun:
		phase.Set(rows, readmodel.VoiceRow{Voice: e.Voice, Phase: voice.Training})
	case voice.Ready:
		phase.Set(rows, readmodel.VoiceRow{Voice: e.Voice, Phase: voice.Speaking})
	case voice.Broken:
		broken.Set(rows, readmodel.VoiceRow{Voice: e.Voice, Phase: voice.Unusable, Reason: e.Message})
	case voice.Deleted:
		voices.Delete(rows, readmodel.VoiceRow{Voice: e.Voice})
	case star.Starred:
		stars.Put(rows, readmodel.StarRow{Account: e.Account, Voice: e.Voice})
	case star.Unstarred:
		stars.Delete(rows, readmodel.StarRow{Account: e.Account, Voice: e.Voice})
	}
	handleStep(event, rows)
	return nil
}
