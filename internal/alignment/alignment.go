// Package alignment finds the words of a known text in a recording of it: forced alignment by dynamic time warping
// (Sakoe and Chiba, 1978) against a rendering of the text whose word times are known. It is pure arithmetic; the
// subpackage rendered has the rendering.
package alignment

import (
	"context"

	"github.com/recital-tts/recital/internal/audio"
)

// Aligner aligns uploads.
type Aligner interface {
	// Align returns the words of the text with their places in the upload. Errors: *audio.UnusableError, ErrNoWords,
	// ErrTooMuchText, ErrNoSpeech, ErrBusy, and those of the decoder and the engine.
	Align(ctx context.Context, upload audio.Upload, text string, method Method) ([]Word, error)
}

// Method is a way of aligning.
type Method int

// The methods.
const (
	// Plain compares cepstra as they are.
	Plain Method = iota
	// Improved normalises them, adds their slopes, keeps silence apart from speech, renders the text at the pace of the
	// recording, moves words to the edges of speech, and finds phonemes.
	Improved
)

// Sound is one channel of samples.
type Sound struct {
	Samples []int16
	Rate    int // Hz
}

// Seconds returns the length.
func (s Sound) Seconds() float64 { return float64(len(s.Samples)) / float64(s.Rate) }

// Word is a word with its place in a sound. In a reference, Confidence means nothing.
type Word struct {
	Text       string
	Start, End float64 // seconds
	Confidence float64 // 0 to 1: how much the sound resembles the rendering there
	Phonemes   []Phoneme
}

// Phoneme is a part of a word.
type Phoneme struct {
	Name       string // as the engine writes it
	Start, End float64
}

// Reference is a rendering of the text with its words in order.
type Reference struct {
	Sound Sound
	Words []Word
}

// Align returns the reference's words with their places in the recording, which are in order and within it.
func Align(recording Sound, reference Reference, method Method) []Word {
	a := extract(recording)
	b := extract(reference.Sound)
	if a.frames() == 0 || b.frames() == 0 {
		return nil
	}
	if method == Improved {
		a.normalise()
		b.normalise()
	}
	path := align(a, b, method)
	words := path.words(reference.Words)
	if method == Improved {
		snap(words, a, reference.Words)
	}
	return inOrder(words, recording.Seconds())
}

// inOrder makes the times increase, and be within a sound of so many seconds.
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
