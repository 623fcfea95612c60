package rendered

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/alignment"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// rate of the recordings in Hz: the compared band ends below 7 kHz.
const rate = 16000

// Aligner implements alignment.Aligner. It is safe for concurrent use. Each alignment takes up to 300 MiB of memory.
type Aligner struct {
	Decoder audio.Decoder
	Engine  speech.Engine
	Longest time.Duration // of a recording
}

var _ alignment.Aligner = (*Aligner)(nil)

// Align implements alignment.Aligner.
func (a *Aligner) Align(
	ctx context.Context, upload audio.Upload, text, language string,
) ([]alignment.Word, error) {
	recording := sink{Rate: rate}
	limits := audio.DecodeLimits{Rate: rate, Longest: a.Longest}
	if _, err := a.Decoder.Decode(ctx, upload, &recording, limits); err != nil {
		return nil, fmt.Errorf("aligning an upload: %w", err)
	}
	return AlignSound(ctx, a.Engine, alignment.Sound(recording), text, language)
}

// sink collects written samples in a sound.
type sink alignment.Sound

// Write takes whole samples.
func (s *sink) Write(pcm []byte) (int, error) {
	s.Samples = audio.AppendSamples(s.Samples, pcm)
	return len(pcm), nil
}

// AlignSound aligns a recording with a rendering of its text.
func AlignSound(
	ctx context.Context, engine speech.Engine, recording alignment.Sound, text, language string,
) ([]alignment.Word, error) {
	words, fit, err := match(ctx, engine, recording, text, language)
	if err != nil {
		return nil, err
	}
	return words, fit.Verify()
}

// match renders a text and aligns a recording with it.
func match(
	ctx context.Context, engine speech.Engine, recording alignment.Sound, text, language string,
) ([]alignment.Word, alignment.Fit, error) {
	if !alignment.HasSpeech(recording) {
		return nil, alignment.Fit{}, alignment.ErrNoSpeech
	}
	reference, err := Render(ctx, engine, text, language, 1)
	if err != nil {
		return nil, alignment.Fit{}, err
	}
	if reference, err = atPace(ctx, engine, recording, reference, text, language); err != nil {
		return nil, alignment.Fit{}, err
	}
	words, fit := alignment.Align(recording, reference)
	return words, fit, nil
}

// closeEnough is the difference in pace below which a second rendering is not worth its time.
const closeEnough = 0.07

// atPace renders the text again at the pace of the recording, unless the reference is close to it.
func atPace(
	ctx context.Context, engine speech.Engine, recording alignment.Sound, reference alignment.Reference,
	text, language string,
) (alignment.Reference, error) {
	pace := alignment.Pace(recording, reference.Sound)
	if math.Abs(pace-1) < closeEnough {
		return reference, nil
	}
	return Render(ctx, engine, text, language, min(max(1/pace, 0.6), 1.7))
}
