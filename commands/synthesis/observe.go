package synthesis

import (
	"context"
	"errors"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/process/tracing"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// Kind is how the audio of a synthesis is delivered.
type Kind string

// The kinds of syntheses.
const (
	Streamed  Kind = "streamed"  // a reply that is written during the synthesis
	Collected Kind = "collected" // a reply that is sent when it is complete
	Spoken    Kind = "unit"      // a unit of a session
)

// Outcome is the outcome of a synthesis.
type Outcome string

// The outcomes of a synthesis.
const (
	Done    Outcome = "done"
	Refused Outcome = "refused" // no permission, or invalid text or voice
	Cut     Outcome = "cut"     // the client disconnected, or was too slow
	Failed  Outcome = "failed"
)

// Observation is the metrics of a synthesis.
type Observation struct {
	Kind       Kind
	Format     audio.Format
	Outcome    Outcome
	FirstAudio time.Duration // until the first audio was passed to the connection; 0 if none was
	Characters int64         // delivered characters
}

// watch measures one synthesis.
type watch struct {
	begun      time.Time
	firstAudio time.Duration
	left       bool // audio was not accepted
}

// delivered records the result of passing a piece of audio to the connection.
func (w *watch) delivered(ctx context.Context, bytes int, err error) {
	switch {
	case err != nil:
		w.left = true
	case bytes > 0 && w.firstAudio == 0:
		w.firstAudio = time.Since(w.begun)
		tracing.Note(ctx, "first audio")
	}
}

func (s *Synthesiser) observe(ctx context.Context, o Observation, w watch, err error) {
	if s.Observe == nil {
		return
	}
	o.FirstAudio, o.Outcome = w.firstAudio, outcomeOf(ctx, w, err)
	s.Observe(o)
}

func outcomeOf(ctx context.Context, w watch, err error) Outcome {
	var busy *BusyError
	var tooLong *TooLongError
	code := domain.CodeOf(err)
	switch {
	case err == nil:
		return Done
	case w.left, ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, errTooSlow):
		return Cut
	case code != "" && code != domain.Unavailable, errors.As(err, &busy), errors.As(err, &tooLong),
		errors.Is(err, ErrNoRoom), errors.Is(err, ErrNoShare):
		return Refused
	}
	return Failed
}

// watchedListener measures the units of a session.
type watchedListener struct {
	Listener
	ctx   context.Context // of Session.Speak
	watch *watch
}

// Audio implements Listener.
func (l watchedListener) Audio(c Chunk) error {
	err := l.Listener.Audio(c)
	l.watch.delivered(l.ctx, len(c.Audio), err)
	return err
}
