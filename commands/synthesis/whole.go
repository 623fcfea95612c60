package synthesis

import (
	"context"
	"errors"
	"fmt"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// Refusals of Begin if there is no place for a reply that is collected.
var (
	ErrNoRoom  = spool.ErrFull  // in the instance
	ErrNoShare = spool.ErrShare // in the account's share of it
)

// Recording is the complete result of a synthesis.
type Recording struct {
	Audio    *spool.File
	Timings  []speech.Timing
	Position eventlog.Position // of the settlement
	Stale    bool              // the read models did not reach the position in time
}

// TooLongError means that the audio is larger than a collected reply may be.
type TooLongError struct {
	Audio      audio.Spec
	Speed      float64
	Length     float64 // seconds; 0 means the natural length
	Characters int64
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the audio of %d characters is too large as %s", e.Characters, e.Audio.Format)
}

// expectedSeconds is the duration of a character at the normal pace, in languages with few characters per word. A text
// that takes longer claims more as it grows.
const expectedSeconds = 0.4

// expectedSize returns the size of audio that is claimed in the spool, in bytes.
func (s Synthesis) expectedSize() int64 {
	seconds := expectedSeconds * float64(s.characters())
	switch {
	case s.Length > 0:
		seconds = s.Length
	case s.Speed > 0:
		seconds /= s.Speed
	}
	if s.markup != nil && s.Length == 0 {
		seconds += s.markup.Pauses().Seconds()
	}
	perSample := float64(s.Audio.BytesPerSample())
	if s.Audio.Format.Compressed() {
		perSample /= 4
	}
	return int64(seconds * float64(s.Audio.SampleRate) * perSample)
}

// claim claims the space of a reply that is to be collected, before the reservation.
func (r *Reply) claim() (err error) {
	if r.synthesis.Whole {
		r.whole, err = r.synthesiser.Spool.Create(r.synthesis.Account, r.synthesis.expectedSize())
	}
	return err
}

// Whole collects the audio, settles and returns it. If the caller's context ends before it is complete, or the audio is
// too large (*TooLongError), the charge is zero. The audio can be read, and counts among the account's syntheses, until
// Release is called or the context ends.
func (r *Reply) Whole(ctx context.Context) (Recording, error) {
	if err := r.take(ctx); err != nil {
		return Recording{}, err
	}
	collected := false
	defer func() {
		if !collected { // also after a panic
			r.Release()
		}
	}()
	recording, err := r.collect(ctx)
	r.observe(ctx, err)
	if err != nil {
		return Recording{}, err
	}
	collected = true
	context.AfterFunc(ctx, r.Release)
	return recording, nil
}

func (r *Reply) collect(ctx context.Context) (Recording, error) {
	if err := r.speakInTime(ctx, r.whole); err != nil {
		r.delivered = 0
		return Recording{}, errors.Join(fmt.Errorf("recording a synthesis: %w", r.explain(err)), r.settle(ctx))
	}
	if err := r.settle(ctx); err != nil {
		return Recording{}, err
	}
	if err := audio.FinishFile(r.synthesis.Audio, r.whole); err != nil {
		return Recording{}, err
	}
	r.saveClip(ctx, clips.Collected(r.whole))
	r.awaitVisible(ctx)
	r.whole.Finish()
	return Recording{Audio: r.whole, Timings: r.timings, Position: r.position, Stale: r.stale}, nil
}

func (r *Reply) explain(err error) error {
	if !errors.Is(err, spool.ErrTooLarge) {
		return err
	}
	return &TooLongError{
		Audio: r.synthesis.Audio, Speed: r.synthesis.Speed, Length: r.synthesis.Length, Characters: r.synthesis.characters(),
	}
}

// Release erases the collected audio, and gives the slot back. It may be called again.
func (r *Reply) Release() {
	r.slot.Release()
	r.kept.Close()
	if r.whole != nil {
		r.whole.Close()
	}
}
