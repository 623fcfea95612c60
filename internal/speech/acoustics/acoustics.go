// Package acoustics measures recordings of speech while they are read: where the speech is, how far it stands out of
// the noise, and the statistics of the voice. It works in blocks of some seconds, so its memory does not depend on the
// length of a recording. It is pure arithmetic: the same samples give the same figures, however they are cut.
package acoustics

import (
	"slices"

	"github.com/recital-tts/recital/internal/speech/audio"
)

// Config configures an Analyser.
type Config struct {
	Rate    int  // Hz, of the samples: 8000 to 48000
	Enhance bool // reduces steady noise before the voice is measured
	Filter  bool // excludes unusable stretches from the statistics: clipped, drowned in noise, or not speech
}

// Report describes a recording.
type Report struct {
	Seconds    float64 `json:"seconds"`
	Speech     float64 `json:"speech"`      // seconds
	Start      float64 `json:"start"`       // seconds to the first speech; without speech Start and End are 0
	End        float64 `json:"end"`         // seconds to the end of the last speech
	Level      float64 `json:"level"`       // of the speech in dB of full scale; -100 without speech
	SNR        float64 `json:"snr"`         // dB, of the measured speech to the sound in its pauses; -10 to 60
	Noise      float64 `json:"noise"`       // dB of full scale, as recorded; at least -100
	NoiseAfter float64 `json:"noise_after"` // the same after Enhance
	Clipped    float64 `json:"clipped"`     // share of the samples, 0 to 1
	Bandwidth  float64 `json:"bandwidth"`   // Hz up to which speech stands out of the noise, at most 8000
	Dropped    float64 `json:"dropped"`     // seconds of speech that Filter excluded
	Music      float64 `json:"music"`       // likeness to music rather than speech, 0 to 1
}

const (
	hop    = 0.010 // seconds of a frame
	margin = 0.050 // seconds around a block that its first and last frames need

	blockFrames = 2000

	fullScale   = 1 << 15
	clippedFrom = 32600.0
)

// Analyser measures one recording. Its methods are called by one goroutine at a time.
type Analyser struct {
	config   Config
	spectra  *spectrograph
	activity activity
	pitch    *pitchTracker
	vowels   *resonator

	half    []byte  // of a sample
	samples []int16 // from origin on
	origin  int     // the index of samples[0] in the recording
	frames  int     // measured so far
	sums    sums
}

// New returns an Analyser.
func New(config Config) *Analyser {
	spectra := newSpectrograph(config.Rate)
	return &Analyser{
		config: config, spectra: spectra, pitch: newPitchTracker(config.Rate), vowels: newResonator(spectra),
		sums: newSums(spectra),
	}
}

// Write measures signed 16-bit little-endian samples of one channel, cut anywhere. It never fails.
func (a *Analyser) Write(pcm []byte) (int, error) {
	rest := append(a.half, pcm...)
	for len(rest) > 1 {
		piece := rest[:min(len(rest)&^1, 1<<16)]
		a.samples = audio.AppendSamples(a.samples, piece)
		rest = rest[len(piece):]
		a.measureBlocks()
	}
	a.half = slices.Clone(rest)
	return len(pcm), nil
}

// Finish returns the results. Write must not be called after it.
func (a *Analyser) Finish() (Report, Statistics) {
	total, left := a.origin+len(a.samples), 0
	for a.place(a.frames+left) < total {
		left++
	}
	if left > 0 {
		a.measure(left)
	}
	return a.sums.report(float64(total) / float64(a.config.Rate)), a.sums.statistics
}

// place returns the first sample of a frame.
func (a *Analyser) place(frame int) int { return int(float64(frame) * hop * float64(a.config.Rate)) }

func (a *Analyser) margin() int { return int(margin * float64(a.config.Rate)) }

func (a *Analyser) measureBlocks() {
	for a.origin+len(a.samples) >= a.place(a.frames+blockFrames)+a.margin() {
		a.measure(blockFrames)
	}
}

// measure measures the next frames, and drops the samples that later frames do not need.
func (a *Analyser) measure(frames int) {
	b := a.cut(frames)
	a.spectra.measure(b)
	a.activity.find(b, a.spectra.bands)
	noise := b.noise(a.spectra.each())
	a.sums.heard(b, noise)
	if a.config.Enhance {
		a.spectra.enhance(b, noise)
		a.spectra.measure(b)
		noise = b.noise(a.spectra.each())
	}
	a.pitch.track(b)
	if a.config.Filter {
		b.drop(noise)
	}
	a.sums.add(b, noise, a.vowels)

	a.frames += frames
	keep := min(max(a.place(a.frames)-a.margin()-a.origin, 0), len(a.samples))
	a.samples = append([]int16(nil), a.samples[keep:]...)
	a.origin += keep
}

// cut returns the next frames with a margin around them. Outside of the recording the margin is silent.
func (a *Analyser) cut(frames int) *block {
	from := a.place(a.frames) - a.margin()
	b := newBlock(a.frames, frames, a.place(a.frames+frames)+a.margin()-from)
	for i := range b.samples {
		if at := from + i - a.origin; at >= 0 && at < len(a.samples) {
			b.samples[i] = float64(a.samples[at]) / fullScale
		}
	}
	for i := range b.frames {
		f := &b.frames[i]
		first, next := a.place(a.frames+i)-from, a.place(a.frames+i+1)-from
		f.centre, f.length = (first+next)/2, next-first
		for _, s := range b.samples[first:next] {
			if s >= clippedFrom/fullScale || s <= -clippedFrom/fullScale {
				f.clipped++
			}
		}
	}
	return b
}
