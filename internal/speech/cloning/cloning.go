// Package cloning makes voices from recordings. It is a port: cloning by parameters of a synthesiser (subpackage
// formant) and by a neural network have the same interface, and only the engine's name in stored data tells which one
// made a voice.
package cloning

import (
	"context"
	"io"

	"github.com/recital-tts/recital/internal/speech"
)

// Limits of the stored data of recordings and voices, in bytes.
const (
	MaxAnalysisBytes = 64 << 10
	MaxModelBytes    = 64 << 10
)

// Cloner makes voices from recordings: each is analysed by itself, possibly by different instances at different times,
// and a voice is fitted to all analyses. It is safe for concurrent use.
type Cloner interface {
	// Engine names the engine and the version of its analyses and models, such as "formant/1".
	Engine() string
	// Analyse reads a recording to its end. Its memory does not depend on the length of the recording. A recording
	// without speech has an analysis, too. Errors: those of the reader, and of ctx.
	Analyse(ctx context.Context, recording Recording, options Options) (Analysis, error)
	// Fit returns the voice that is nearest to the recordings. The same analyses, in the same order, the same profile
	// and the same installed voices result in the same bytes. It calls progress, unless that is nil, as its work
	// advances. Errors: *UnusableError for what no repetition changes, those of the speech engine, and of ctx.
	Fit(ctx context.Context, analyses []Analysis, profile Profile, progress func(done, total int)) (Model, error)
	// Open returns the voice of a model, without id and name. It checks all of it: an error means that the model is
	// damaged, or of another engine.
	Open(model Model) (speech.Voice, error)
}

// Recording is audio to be analysed.
type Recording struct {
	PCM  io.Reader // signed 16-bit little-endian samples, one channel
	Rate int       // Hz; 8000 to 48000
}

// Options control the processing of a recording before its analysis.
type Options struct {
	Enhance bool `json:"enhance"` // reduce steady noise
	Filter  bool `json:"filter"`  // leave out stretches that are unusable: clipped, or hidden in noise
}

// Profile is the client's description of the voice. An engine may ignore it.
type Profile struct {
	Gender string // "F" or "M"; all else is unknown
	Accent string // as the client calls it
}

// Analysis is the stored analysis of a recording.
type Analysis struct {
	Report Report
	Data   []byte // for the engine that made it alone; at most MaxAnalysisBytes
}

// Model is a voice as it is kept.
type Model struct {
	Engine string
	Base   string // the id of the installed voice that it moves; "" for none
	Data   []byte // at most MaxModelBytes
}

// Report describes a recording to people. Zero means that a value could not be measured.
type Report struct {
	Seconds       float64 `json:"seconds"`         // of the recording
	SpeechSeconds float64 `json:"speech_seconds"`  // that the voice is fitted to
	Dropped       float64 `json:"dropped_seconds"` // left out by Options.Filter
	SNR           float64 `json:"snr_db"`          // of speech to background
	NoiseBefore   float64 `json:"noise_before_db"` // level of the background, relative to full scale
	NoiseAfter    float64 `json:"noise_after_db"`  // after Options.Enhance
	Clipped       float64 `json:"clipped_share"`   // share of the samples that are clipped
	Bandwidth     float64 `json:"bandwidth_hz"`    // below which the speech lies
	Pitch         float64 `json:"pitch_hz"`        // median of the fundamental frequency
	PitchRange    float64 `json:"pitch_range_st"`  // semitones between its 10th and its 90th percentile
	Pace          float64 `json:"pace"`            // syllables per second of speech
}

// UnusableError means that a voice cannot be made of the recordings.
type UnusableError struct {
	Reason string // for people, without content of the recordings
}

func (e *UnusableError) Error() string { return e.Reason }
