package speech

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/recital-tts/recital/internal/speech/mastering"
	"github.com/recital-tts/recital/internal/speech/resample"
)

// Moved holds the parameters of a clone of an installed voice. They are all numbers.
type Moved struct {
	Package   string    `json:"package"`   // the SHA-256 of the voice's package
	Pitch     float64   `json:"pitch"`     // a factor on the pitch, and on the formants, a whole number of 1/PitchSteps
	Pace      float64   `json:"pace"`      // a factor on the speed
	Equaliser []float64 `json:"equaliser"` // dB, at the bands of package mastering; none means flat
}

// Limits of Moved.
const (
	PitchSteps = 400 // less than a twentieth of a semitone each
	// MaxMovedPitch is a fifth of an octave up, and MinMovedPitch the same down. A voice that is moved further sounds like
	// another length of the vocal tract.
	MaxMovedPitch = 1.15
	MinMovedPitch = 1 / MaxMovedPitch
)

// IsClone reports whether i describes a valid clone of an installed voice.
func (i Installed) IsClone() bool {
	m := i.Moved
	if i.ID == "" || m == nil || m.Package == "" {
		return false
	}
	sound := mastering.Settings{Gain: i.Gain, Equaliser: m.Equaliser}
	return sound.Valid() && within(m.Pitch, MinMovedPitch, MaxMovedPitch) &&
		within(m.Pace, MinTimbrePace, MaxTimbrePace)
}

// moving is the engine of an installed voice at another pitch and pace, for a clone of it or because markup asks for
// that. The voice speaks slower by the factor of its pitch, and its samples are played faster by the same factor, so
// that words keep their length.
type moving struct {
	Engine
	moved Moved
}

// Speak implements Engine.
func (m moving) Speak(ctx context.Context, job Job) (Utterance, error) {
	steps := int(math.Round(m.moved.Pitch * PitchSteps))
	pitch := float64(steps) / PitchSteps
	job.Speed = clamp(job.Speed*m.moved.Pace/pitch, MinSpeed, MaxSpeed)
	utterance, err := m.Engine.Speak(ctx, job)
	if err != nil || steps == PitchSteps {
		return utterance, err
	}
	return &movedUtterance{Utterance: utterance, pitch: pitch, resampler: resample.New(steps, PitchSteps)}, nil
}

// movedUtterance plays an utterance faster or slower, with its pitch.
type movedUtterance struct {
	Utterance
	pitch     float64
	resampler *resample.Resampler // nil at the end
}

// Next implements Utterance.
func (u *movedUtterance) Next(ctx context.Context) ([]byte, error) {
	for {
		if u.resampler == nil {
			return nil, io.EOF
		}
		pcm, err := u.Utterance.Next(ctx)
		samples := make([]float64, 0, len(pcm)/2)
		for ; len(pcm) >= 2; pcm = pcm[2:] {
			samples = append(samples, float64(int16(binary.LittleEndian.Uint16(pcm))))
		}
		moved := u.resampler.Add(samples)
		if errors.Is(err, io.EOF) {
			moved, err = append(moved, u.resampler.Finish()...), nil
			u.resampler = nil
		}
		if len(moved) > 0 || err != nil {
			return encodeSamples(moved), err
		}
	}
}

// encodeSamples returns samples as signed 16-bit little-endian numbers.
func encodeSamples(samples []float64) []byte {
	pcm := make([]byte, 0, 2*len(samples))
	for _, s := range samples {
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(clamp(math.Round(s), math.MinInt16, math.MaxInt16))))
	}
	return pcm
}

// Marks implements Utterance.
func (u *movedUtterance) Marks() []Mark {
	marks := u.Utterance.Marks()
	for i := range marks {
		marks[i].Sample = int(float64(marks[i].Sample) / u.pitch)
	}
	return marks
}
