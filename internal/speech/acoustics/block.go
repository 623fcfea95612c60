package acoustics

import (
	"math"
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
	quiet    bool    // far enough from speech to be only noise
	useless  bool    // speech that is excluded
	pitch    float64 // Hz; 0 if it is not voiced
	harmonic float64 // share of the power that is periodic with the pitch
}

func newBlock(first, frames, samples int) *block {
	return &block{first: first, frames: make([]frame, frames), samples: make([]float64, samples)}
}

// fewQuiet is the minimum number of frames for a spectrum of the noise.
const fewQuiet = 15

// noise returns the mean spectrum of the quiet frames, except the loudest, which may include speech. Silence that was
// inserted into a recording is no evidence of its noise. Without other pauses, the noise is taken from the minimum of
// each frequency within speech.
func (b *block) noise(each float64) []float64 {
	bins := len(b.frames[0].power)
	mean, quiet, limit := make([]float64, bins), 0, b.loudestNoise()
	for i := range b.frames {
		if f := &b.frames[i]; f.quiet && f.level > inserted && f.level <= limit {
			addTo(mean, f.power)
			quiet++
		}
	}
	if quiet < fewQuiet {
		return b.floor(max(int(breadth/each), 1))
	}
	for i := range mean {
		mean[i] /= float64(quiet)
	}
	return mean
}

// Digital silence: all samples are equal. A shorter stretch may be a synthesiser's plosive, which shows that there is
// no noise.
const (
	inserted      = -95.0 // dB of full scale, at most
	leastInserted = 20    // frames
	blurred       = 2     // frames beside it, which contain a part of it
)

// The spectrum of noise behind speech, by minimum statistics (Martin, 2001): the powers are means over some frames and
// frequencies, which vary little, and the lowest count. Noise that is nearly as loud as speech is audible more often,
// and may be people with varying levels, for whom the lowest would be too low.
const (
	floorFrames = 3

	lowestPart    = 0.005 // of the time
	lowestOfNoise = 0.38  // this quantile of the powers of steady noise, relative to their mean
	oftenPart     = 0.2
	oftenOfNoise  = 0.72
	loudNoise     = 15.0 // dB of speech over noise
)

// floor returns the power that each frequency, as a mean over some bins, falls to within speech.
func (b *block) floor(breadth int) []float64 {
	var rows [][]float64
	for _, s := range b.recorded() {
		for from := s.from; from+floorFrames <= s.to; from++ {
			row := meanPower(b.frames[from : from+floorFrames])
			smoothen(row, breadth)
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return make([]float64, len(b.frames[0].power))
	}
	lowest := quantiles(rows, lowestPart, lowestOfNoise)
	if decibels(total(meanPower(b.frames)))-decibels(total(lowest)) < loudNoise {
		return quantiles(rows, oftenPart, oftenOfNoise)
	}
	return lowest
}

// quantiles returns a quantile of each column, divided by its usual ratio to the mean.
func quantiles(rows [][]float64, part, ofMean float64) []float64 {
	values, found := make([]float64, len(rows)), make([]float64, len(rows[0]))
	for bin := range found {
		for i, row := range rows {
			values[i] = row[bin]
		}
		found[bin] = quantile(values, part) / ofMean
	}
	return found
}

// recorded returns the stretches between inserted silences.
func (b *block) recorded() (all []span) {
	from := 0
	for i := 0; i < len(b.frames); i++ {
		silence := span{from: i, to: i}
		for silence.to < len(b.frames) && b.frames[silence.to].level <= inserted {
			silence.to++
		}
		if silence.to-silence.from >= leastInserted {
			all = append(all, span{from, silence.from - blurred})
			from = silence.to + blurred
		}
		i = max(i, silence.to-1)
	}
	return append(all, span{from, len(b.frames)})
}

func meanPower(frames []frame) []float64 {
	mean := make([]float64, len(frames[0].power))
	for i := range frames {
		addTo(mean, frames[i].power)
	}
	for bin := range mean {
		mean[bin] /= float64(len(frames))
	}
	return mean
}

// smoothen replaces values by their means over a number of neighbours.
func smoothen(values []float64, breadth int) {
	sums := make([]float64, len(values)+1)
	for i, v := range values {
		sums[i+1] = sums[i] + v
	}
	for i := range values {
		from, to := max(i-breadth/2, 0), min(i+breadth/2+1, len(values))
		values[i] = max(sums[to]-sums[from], 0) / float64(to-from)
	}
}

// variation is the range of noise above its quietest third, in dB.
const variation = 8

func (b *block) loudestNoise() float64 {
	levels := make([]float64, 1, len(b.frames)+1) // quantile needs one
	for i := range b.frames {
		if b.frames[i].quiet {
			levels = append(levels, b.frames[i].level)
		}
	}
	return quantile(levels, 0.3) + variation
}

// Stretches of speech.
const (
	stretch       = 50    // frames that are used or excluded together
	mostClipped   = 0.002 // share of the samples
	leastContrast = 5.0   // dB of speech over noise
)

// drop excludes the stretches in which samples are clipped, noise is nearly as loud as speech, or a continuous sound is
// not a voice.
func (b *block) drop(noise []float64) {
	floor := total(noise)
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
