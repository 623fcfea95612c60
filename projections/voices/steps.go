package voices

import (
	"time"

	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// placePatience is the time for the creation of a voice once it has its place.
const placePatience = time.Minute

var (
	steps    = readmodel.VoiceSteps
	repeated = steps.Fields("due_at", "cause")
)

// handleStep handles the events that choose a voice's next step.
func handleStep(event eventlog.Decoded, rows *table.Rows) {
	next := func(id string, step readmodel.VoiceStep, due time.Time) {
		steps.Put(rows, readmodel.VoiceStepRow{
			Voice: id, Step: step, Stream: event.Stream, Due: due, Cause: event.ID.String(),
		})
	}
	switch e := event.Event.(type) {
	case roster.PlaceTaken:
		next(e.Voice, readmodel.StepSettlePlace, e.At.Add(placePatience))
	case voice.Created:
		next(e.Voice, readmodel.StepPrepare, e.At)
	case voice.Queued:
		next(e.Voice, readmodel.StepTrain, e.At)
	case voice.Analysed: // the same step continues
		repeated.Set(rows, readmodel.VoiceStepRow{Voice: e.Voice, Due: e.At, Cause: event.ID.String()})
	case voice.Ready:
		next(e.Voice, readmodel.StepRenderPreview, e.At)
	case voice.PreviewInvalidated:
		next(e.Voice, readmodel.StepRenderPreview, e.At)
	case voice.Deleted:
		next(e.Voice, readmodel.StepErase, e.At)
	case voice.Broken:
		steps.Delete(rows, readmodel.VoiceStepRow{Voice: e.Voice})
	case voice.PreviewRendered:
		steps.Delete(rows, readmodel.VoiceStepRow{Voice: e.Voice})
	case voice.Erased:
		steps.Delete(rows, readmodel.VoiceStepRow{Voice: e.Voice})
	case roster.PlaceFreed:
		if e.Abandoned {
			steps.Delete(rows, readmodel.VoiceStepRow{Voice: e.Voice})
		}
	}
}
