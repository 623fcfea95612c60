package acoustics

import (
	"math"
	"slices"
)

// block is some seconds of a recording.
type block struct {
	first   int       // frame
	samples []float64 // full scale is 1
	frames  []frame
}

// frame is a hundredth of a second.
type frame struct {
	centre, length int // in samples of the block
	clipped        int // samples
	power          []float32
	bands          [Bands]float64 // dB
	level          float64        // dB

	speech   bool
	quiet    bool    // far enough from speech to be nothing but noise
	useless  bool    // speech that is left out
	pitch    float64 // Hz; 0 if it is not voiced
	harmonic float64 // share of the power that repeats with the pitch
}

func newBlock(first, frames, samples int) *block {
	return &block{first: first, frames: make([]frame, frames), samples: make([]float64, samples)}
}

// fewQuiet is the number of frames that make a spectrum of the noise.
const fewQuiet = 15

// noise returns the mean spectrum of the quiet frames, without the loudest: some speech may be among them. Where there
// are none, it is made of what each frequency falls to.
func (b *block) noise() []float64 {
	bins := len(b.frames[0].power)
	mean, quiet, limit := make([]float64, bins), 0, b.loudestNoise()
	for i := range b.frames {
		if f := &b.frames[i]; f.quiet && f.level <= limit {
			addTo(mean, f.power)
			quiet++
		}
	}
	if quiet >= fewQuiet {
		for i := range mean {
			mean[i] /= float64(quiet)
		}
		return mean
	}
	values := make([]float32, len(b.frames))
	for bin := range mean {
		for i := range b.frames {
			values[i] = b.frames[i].power[bin]
		}
		slices.Sort(values)
		// The tenth part of the values of noise, whose power has an exponential distribution, is below 0.105 of the
		// mean.
		mean[bin] = float64(values[len(values)/10]) / 0.105
	}
	return mean
}

// variation is how much louder noise becomes than it is for the quietest third of the time, in dB.
const variation = 8

func (b *block) loudestNoise() float64 {
	levels := make([]float64, 1, len(b.frames)+1) // so that there is one
	for i := range b.frames {
		if b.frames[i].quiet {
			levels = append(levels, b.frames[i].level)
		}
	}
	return quantile(levels, 0.3) + variation
}

// Stretches of speech.
const (
	stretch       = 50    // frames that are used or left out together
	mostClipped   = 0.002 // share of the samples
	leastContrast = 5.0   // dB of speech over noise
)

// drop leaves out the stretches in which samples are clipped, noise is nearly as loud as speech, or what goes on and on
// is no voice.
func (b *block) drop(noise []float64) {
	floor := 0.0
	for _, p := range noise {
		floor += p
	}
	for from := 0; from < len(b.frames); from += stretch {
		frames := b.frames[from:min(from+stretch, len(b.frames))]
		if unusable(frames, floor) {
			for i := range frames {
				frames[i].useless = frames[i].speech
			}
		}
	}
}

func unusable(frames []frame, floor float64) bool {
	speech, voiced, clipped, samples, power := 0, 0, 0, 0, 0.0
	for i := range frames {
		f := &frames[i]
		clipped += f.clipped
		samples += f.length
		if !f.speech {
			continue
		}
		speech++
		if f.pitch > 0 {
			voiced++
		}
		for _, p := range f.power {
			power += float64(p)
		}
	}
	if speech == 0 {
		return false
	}
	contrast := 10 * math.Log10(max(power/float64(speech)-floor, leastPower)/max(floor, leastPower))
	return float64(clipped) > mostClipped*float64(samples) || contrast < leastContrast ||
		speech >= stretch-5 && voiced == 0
}

func addTo(sum []float64, power []float32) {
	for i, p := range power {
		sum[i] += float64(p)
	}
}
