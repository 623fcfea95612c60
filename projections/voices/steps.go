package voices

import (
	"time"

	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// step is what is to be done next for a voice: the process that does it.
type step string

const (
	settlePlace   step = "settle_voice_place"
	prepare       step = "prepare_voice"
	train         step = "train_voice"
	renderPreview step = "render_voice_preview"
	erase         step = "erase_voice"
)

// stepRow is the next step of a voice, at most one of which there is at any time: a row behind the to-do lists.
type stepRow struct {
	Voice  string    `col:"voice_id,key"`
	Step   step      `col:"step"`
	Stream string    `col:"stream"` // that the event is in
	Due    time.Time `col:"due_at"`
	Cause  string    `col:"cause"`
}

type steps struct {
	table.Typed[stepRow]
	due   table.Field[stepRow, time.Time]
	cause table.Field[stepRow, string]
}

func newSteps() steps {
	t := table.Of[stepRow]("steps").Index("steps_due", "step", "due_at")
	return steps{
		Typed: t,
		due:   table.FieldOf(t, func(r *stepRow) *time.Time { return &r.Due }),
		cause: table.FieldOf(t, func(r *stepRow) *string { return &r.Cause }),
	}
}

func (s steps) views() (views []feed.View) {
	for _, v := range []struct {
		view readmodel.ToDo
		of   step
	}{
		{readmodel.ToDoSettleVoicePlaceView, settlePlace},
		{readmodel.ToDoPrepareVoiceView, prepare},
		{readmodel.ToDoTrainVoiceView, train},
		{readmodel.ToDoRenderVoicePreviewView, renderPreview},
		{readmodel.ToDoEraseVoiceView, erase},
	} {
		views = append(views, feed.View{View: v.view.View, Select: `select voice_id as item, stream, due_at, cause from steps where step = '` + string(v.of) + `'`})
	}
	return views
}

// placePatience is how long the creation of a voice may take, from the moment it has its place.
const placePatience = time.Minute

func (s steps) handle(event eventlog.Decoded, rows *table.Rows) {
	next := func(id string, step step, due time.Time) {
		s.Put(rows, stepRow{Voice: id, Step: step, Stream: event.Stream, Due: due, Cause: event.ID.String()})
	}
	switch e := event.Event.(type) {
	case roster.PlaceTaken:
		next(e.Voice, settlePlace, e.At.Add(placePatience))
	case voice.Created:
		next(e.Voice, prepare, e.At)
	case voice.Queued:
		next(e.Voice, train, e.At)
	case voice.Analysed: // the step is taken again, from where it is
		s.due.Set(rows, stepRow{Voice: e.Voice}, e.At)
		s.cause.Set(rows, stepRow{Voice: e.Voice}, event.ID.String())
	case voice.Ready:
		next(e.Voice, renderPreview, e.At)
	case voice.PreviewInvalidated:
		next(e.Voice, renderPreview, e.At)
	case voice.Deleted:
		next(e.Voice, erase, e.At)
	case voice.Broken:
		s.Delete(rows, stepRow{Voice: e.Voice})
	case voice.PreviewRendered:
		s.Delete(rows, stepRow{Voice: e.Voice})
	case voice.Erased:
		s.Delete(rows, stepRow{Voice: e.Voice})
	case roster.PlaceFreed:
		if e.Abandoned {
			s.Delete(rows, stepRow{Voice: e.Voice})
		}
	}
}
