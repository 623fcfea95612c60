// Package cloning is the port for making voices from recordings. Cloning by the parameters of a synthesiser (subpackage
// formant) and by a neural network have the same interface; the engine's name in stored data distinguishes them.
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

// Cloner makes voices from recordings. Each recording is analysed separately, possibly by different instances at
// different times, and a voice is fitted to all analyses. It is safe for concurrent use.
type Cloner interface {
	// Engine returns the name of the engine and the version of its analyses and models, such as "formant/1".
	Engine() string
	// Analyse reads a recording to its end. Its memory does not depend on the length of the recording. A recording without
	// speech has an analysis, too. Errors: the reader's, and ctx's.
	Analyse(ctx context.Context, recording Recording, options Options) (Analysis, error)
	// Fit returns the voice that is nearest to the recordings. The same analyses in the same order, profile and installed
	// voices give the same bytes. It reports its advance to progress, unless that is nil. Errors: *UnusableError if a
	// retry cannot succeed, the speech engine's, and ctx's.
	Fit(ctx context.Context, analyses []Analysis, profile Profile, progress func(done, total int)) (Model, error)
	// Open checks a model and returns its voice, without id and name. An error means that the model is damaged, or of
	// another engine.
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
	Gender string // "F" or "M"; other values mean unknown
	Accent string // the client's name for it
}

// Analysis is the stored analysis of a recording.
type Analysis struct {
	Report Report
	Data   []byte // only for the engine that made it; at most MaxAnalysisBytes
}

// Model is a stored voice.
type Model struct {
	Engine string
	Base   string // the id of the installed voice that it modifies; "" for none
	Data   []byte // at most MaxModelBytes
}

// Report describes a recording to people. Zero means that a value could not be measured.
type Report struct {
	Seconds       float64 `json:"seconds"`         // of the recording
	SpeechSeconds float64 `json:"speech_seconds"`  // used for the voice
	Dropped       float64 `json:"dropped_seconds"` // left out by Options.Filter
	SNR           float64 `json:"snr_db"`          // ratio of speech to background
	NoiseBefore   float64 `json:"noise_before_db"` // level of the background, relative to full scale
	NoiseAfter    float64 `json:"noise_after_db"`  // after Options.Enhance
	Clipped       float64 `json:"clipped_share"`   // share of the samples that are clipped
	Bandwidth     float64 `json:"bandwidth_hz"`    // upper end of the speech
	Pitch         float64 `json:"pitch_hz"`        // median of the fundamental frequency
	PitchRange    float64 `json:"pitch_range_st"`  // semitones between its 10th and its 90th percentile
	Pace          float64 `json:"pace"`            // syllables per second of speech
}

// UnusableError means that a voice cannot be made of the recordings.
type UnusableError struct {
	Reason string // for people, without content of the recordings
}

func (e *UnusableError) Error() string { return e.Reason }
