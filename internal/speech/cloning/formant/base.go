package formant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/loudness"
)

// The variants of the synthesiser that clones are based on. They neither whisper nor sound like machines.
func women() []string { return []string{"f1", "f2", "f3", "f4"} }
func men() []string   { return []string{"m3", "m6", "m7", "m8"} }

func isNatural(variant string) bool {
	return slices.Contains(women(), variant) || slices.Contains(men(), variant)
}

// between is the pitch in Hz from which a voice of unknown gender counts as a woman's.
const between = 150

// naturalVariants returns the variants that may be near a voice.
func naturalVariants(gender string, pitch float64) []string {
	if genderOf(gender, pitch) == "F" {
		return women()
	}
	return men()
}

// genderOf returns F or M.
func genderOf(said string, pitch float64) string {
	if said == "F" || said != "M" && pitch >= between {
		return "F"
	}
	return "M"
}

// neutral returns a timbre with a median pitch of about the given Hz. Otherwise it leaves the variant unchanged.
func neutral(pitch float64) speech.Timbre {
	return speech.Timbre{
		PitchLow:  inRange(0.8*pitch, speech.MinTimbrePitch, 300),
		PitchHigh: inRange(1.2*pitch, speech.MinTimbrePitch, speech.MaxTimbrePitch),
		Formants:  1, Breath: usualBreath, Pace: 1,
	}
}

// usualBreath is more than the variants have. It fills the gaps between the harmonics like in people's voices.
const usualBreath = 0.6

// sound is the measurement of a rendering.
type sound struct {
	acoustics.Statistics
	loudness float64 // LUFS
}

// hear renders readings and measures them.
func (c *Cloner) hear(ctx context.Context, voice speech.Voice, readings []reading) (sound, error) {
	analyser := acoustics.New(acoustics.Config{Rate: c.engine.SampleRate()})
	meter := loudness.NewMeter(c.engine.SampleRate())
	for _, r := range readings {
		stream := speech.NewSpeaker(c.engine).Speak(ctx, speech.Request{Text: r.text, Voice: voice, Language: r.language})
		err := listen(ctx, stream, analyser, meter)
		stream.Close()
		if err != nil {
			return sound{}, fmt.Errorf("speaking as a candidate: %w", err)
		}
	}
	_, statistics := analyser.Finish()
	return sound{Statistics: statistics, loudness: meter.Loudness()}, nil
}

func listen(ctx context.Context, stream *speech.Stream, analyser *acoustics.Analyser, meter *loudness.Meter) error {
	for {
		piece, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, _ = analyser.Write(piece.PCM) // never fails
		meter.Add(piece.PCM)
	}
}

func inRange(value, least, most float64) float64 { return min(max(value, least), most) }

// semitones returns the interval between two frequencies, and 0 if one is unknown.
func semitones(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return 12 * math.Log2(a/b)
}
