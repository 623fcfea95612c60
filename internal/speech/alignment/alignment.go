// Package alignment finds the words of a known text in a recording of it: forced alignment by dynamic time warping
// (Sakoe and Chiba, 1978) against a rendering of the text with known word times. It is pure arithmetic; subpackage
// rendered makes the rendering.
package alignment

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recital-tts/recital/internal/speech/audio"
)

// Aligner aligns uploads.
type Aligner interface {
	// Align returns the words of the text with their places in the upload. The language is an engine language or
	// speech.AutoLanguage. Errors: *audio.UnusableError, ErrNoWords, ErrTooMuchText, ErrNoSpeech, *OtherTextError,
	// and those of the decoder and the engine.
	Align(ctx context.Context, upload audio.Upload, text, language string) ([]Word, error)
}

// Sound is one channel of samples.
type Sound struct {
	Samples []int16
	Rate    int // Hz
}

// Seconds returns the length.
func (s Sound) Seconds() float64 { return float64(len(s.Samples)) / float64(s.Rate) }

// Word is a word with its place in a sound. References do not use Confidence.
type Word struct {
	Text       string
	Start, End float64 // seconds
	Confidence float64 // 0 to 1: the likeness of the sound to the rendering there
	Phonemes   []Phoneme
}

// Phoneme is a part of a word.
type Phoneme struct {
	Name       string // the engine's name
	Start, End float64
}

// Reference is a rendering of the text with its words in order.
type Reference struct {
	Sound Sound
	Words []Word
}

// Align returns the reference's words with their places in the recording, which are in order and within it, and the fit
// of the two.
func Align(recording Sound, reference Reference) ([]Word, Fit) {
	whole := extract(recording, activity.compared)
	if whole.frames() == 0 || len(reference.Sound.Samples) == 0 {
		return nil, Fit{}
	}
	reference = reference.inSilence()
	b := extract(reference.Sound, activity.whole)
	endBeforePauses(reference.Words, b.silent)
	whole.normalise()
	b.normalise()
	a, pauses := whole.cutPauses()
	path := align(a, b)
	words := path.words(reference.Words)
	snap(words, a, reference.Words)
	fit := fitOf(a, b, path)
	restore(words, pauses)
	return inOrder(words, recording.Seconds()), fit
}

// around is the silence before and after a reference, in seconds. It matches the silence of the recording, which would
// otherwise belong to the first and the last word.
const around = 0.1

// inSilence returns a copy of the reference with the silence of a good recording around it.
func (r Reference) inSilence() Reference {
	pause := int(around * float64(r.Sound.Rate))
	samples := make([]int16, pause, len(r.Sound.Samples)+2*pause)
	samples = append(append(samples, r.Sound.Samples...), make([]int16, pause)...)
	hiss := rand.New(rand.NewPCG(1, 1))
	for i := range pause {
		samples[i], samples[len(samples)-1-i] = int16(hiss.IntN(61)-30), int16(hiss.IntN(61)-30)
	}
	words := slices.Clone(r.Words)
	for i := range words {
		w := &words[i]
		w.Start, w.End, w.Phonemes = w.Start+around, w.End+around, slices.Clone(w.Phonemes)
		for j := range w.Phonemes {
			w.Phonemes[j].Start += around
			w.Phonemes[j].End += around
		}
	}
	return Reference{Sound: Sound{Samples: samples, Rate: r.Sound.Rate}, Words: words}
}

// rest is the minimum length of a pause in seconds. A shorter silence is part of a sound.
const rest = 0.1

// endBeforePauses removes the pauses at the ends of words.
func endBeforePauses(words []Word, silent []bool) {
	for i := range words {
		w := &words[i]
		from, to := framesWithin(w.Start, w.End, len(silent))
		for to > from && silent[to-1] {
			to--
		}
		end := centre(float64(to) - 0.5)
		if to == from || w.End-end < rest {
			continue
		}
		w.End = end
		for j := range w.Phonemes {
			p := &w.Phonemes[j]
			p.Start, p.End = min(p.Start, end), min(p.End, end)
		}
	}
}

// framesWithin returns the frames that lie entirely between two times.
func framesWithin(start, end float64, frames int) (from, to int) {
	from = min(int(math.Ceil(start/hop)), frames)
	return from, min(max(int((end-width)/hop)+1, from), frames)
}

// inOrder makes the times ascend, and limits them to a length in seconds.
func inOrder(words []Word, seconds float64) []Word {
	now := 0.0
	bounded := func(at float64) float64 {
		now = min(max(now, at), seconds)
		return now
	}
	for i := range words {
		w := &words[i]
		w.Start = bounded(w.Start)
		begin := now
		w.End = bounded(w.End)
		for j := range w.Phonemes {
			p := &w.Phonemes[j]
			p.Start = min(max(begin, p.Start), w.End)
			p.End = min(max(p.Start, p.End), w.End)
			begin = p.End
		}
	}
	return words
}

// Reasons why a recording cannot be aligned.
var (
	ErrNoWords     = errors.New("the text has no words that can be spoken")
	ErrTooMuchText = errors.New("the text takes much longer to speak than a recording may last")
	ErrNoSpeech    = errors.New("the recording holds no speech")
)
