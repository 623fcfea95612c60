// Package likenesstest measures the distance between two voices that speak the same sentences.
package likenesstest

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/dsp/window"
	"gonum.org/v1/gonum/stat"

	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
)

// Distance is the distance between two voices.
type Distance struct {
	Pitch    float64 // semitones between the medians of the fundamental frequency
	Spectrum float64 // dB, root mean square over the bands of the long-term average spectrum, levels apart
	Cepstrum float64 // mean Euclidean distance of mel-frequency cepstra along the best alignment of the sentences
}

// Nearer reports whether a distance is shorter in all respects.
func (d Distance) Nearer(than Distance) bool {
	return d.Pitch < than.Pitch && d.Spectrum < than.Spectrum && d.Cepstrum < than.Cepstrum
}

// Voice is the measurement of a voice in some sentences.
type Voice struct {
	each    []acoustics.Statistics // of the sentences
	cepstra [][][]float64          // of the sentences, frame by frame
}

// Measure measures a voice that speaks sentences at a rate in Hz.
func Measure(sentences [][]int16, rate int) Voice {
	var v Voice
	for _, samples := range sentences {
		_, one := acousticstest.Analyse(samples, acoustics.Config{Rate: rate})
		v.each, v.cepstra = append(v.each, one), append(v.cepstra, cepstra(samples, rate))
	}
	return v
}

// Seconds returns the duration of the voice's speech without pauses.
func (v Voice) Seconds() (seconds float64) {
	for _, frames := range v.cepstra {
		seconds += hop * float64(len(frames))
	}
	return seconds
}

// Between compares voices that speak the same sentences.
func Between(a, b Voice) Distance {
	all, others := sum(a.each), sum(b.each)
	d := Distance{
		Pitch: math.Abs(interval(all, others)), Spectrum: spectral(all.LongTermSpectrum(), others.LongTermSpectrum()),
	}
	for i := range a.cepstra {
		d.Cepstrum += aligned(a.cepstra[i], b.cepstra[i]) / float64(len(a.cepstra))
	}
	return d
}

func sum(sentences []acoustics.Statistics) (all acoustics.Statistics) {
	for _, one := range sentences {
		all.Add(one)
	}
	return all
}

// interval returns the interval between two voices' median pitches in semitones.
func interval(a, b acoustics.Statistics) float64 {
	return 12 * math.Log2(a.PitchQuantile(0.5)/b.PitchQuantile(0.5))
}

// Chance returns the difference of pitch between two sets of sentences in the same voice, in semitones, and its
// standard error for other sentences of the two kinds. A clone of the first set cannot be shown to be nearer to the
// second than that.
func Chance(a, b Voice) (pitch, deviation float64) {
	random := rand.New(rand.NewPCG(1, 2)) // the same result every time
	intervals := make([]float64, draws)
	for i := range intervals {
		intervals[i] = interval(sum(drawn(a.each, random)), sum(drawn(b.each, random)))
	}
	return math.Abs(interval(sum(a.each), sum(b.each))), stat.StdDev(intervals, nil)
}

const draws = 200

// drawn returns a sample of the sentences of the same size, with replacement (the bootstrap, Efron 1979).
func drawn(sentences []acoustics.Statistics, random *rand.Rand) []acoustics.Statistics {
	sample := make([]acoustics.Statistics, len(sentences))
	for i := range sample {
		sample[i] = sentences[random.IntN(len(sentences))]
	}
	return sample
}

func spectral(a, b [acoustics.Bands]float64) float64 {
	mean, squares := 0.0, 0.0
	for i := range a {
		mean += (a[i] - b[i]) / acoustics.Bands
	}
	for i := range a {
		squares += (a[i] - b[i] - mean) * (a[i] - b[i] - mean) / acoustics.Bands
	}
	return math.Sqrt(squares)
}

const (
	hop     = 0.010 // seconds between frames
	width   = 0.025 // seconds of a frame
	bands   = 40
	numbers = 13 // of cepstra, including the first, the level, which does not count
	quiet   = 40 // dB below the loudest frame, from which frames are silence
)

// cepstra returns the mel-frequency cepstra (Davis and Mermelstein, 1980) of the frames that are not silent, in dB.
func cepstra(samples []int16, rate int) (rows [][]float64) {
	step := int(hop * float64(rate))
	shape := window.Hamming(slices.Repeat([]float64{1}, int(width*float64(rate))))
	size := acoustics.PowerOfTwo(len(shape))
	filters := acoustics.MelFilters(bands, 80, 7600, size, rate)
	fft := fourier.NewFFT(size)
	var levels []float64
	loudest := math.Inf(-1)
	for at := 1; at+len(shape) <= len(samples); at += step {
		frame := make([]float64, size)
		for i, w := range shape {
			frame[i] = w * (float64(samples[at+i]) - 0.97*float64(samples[at+i-1]))
		}
		row, level := cepstrum(fft.Coefficients(nil, frame), filters)
		rows, levels = append(rows, row), append(levels, level)
		loudest = max(loudest, level)
	}
	loud := rows[:0]
	for i, row := range rows {
		if levels[i] > loudest-quiet {
			loud = append(loud, row)
		}
	}
	return loud
}

func cepstrum(spectrum []complex128, filters [][]acoustics.Weight) (row []float64, level float64) {
	var logs [bands]float64
	sum := 0.0
	for b, filter := range filters {
		power := 1.0
		for _, w := range filter {
			c := spectrum[w.Bin]
			power += w.Share * (real(c)*real(c) + imag(c)*imag(c))
		}
		sum += power
		logs[b] = 10 * math.Log10(power)
	}
	row = make([]float64, numbers-1)
	for k := range row {
		for b, level := range logs {
			row[k] += math.Sqrt(2.0/bands) * level * math.Cos(math.Pi*float64(k+1)*(float64(b)+0.5)/bands)
		}
	}
	return row, 10 * math.Log10(sum)
}

// aligned returns the mean distance along the path of the least cost (dynamic time warping, Sakoe and Chiba, 1978).
func aligned(a, b [][]float64) float64 {
	type cell struct{ cost, steps float64 }
	before := make([]cell, len(b))
	for i := range a {
		now := make([]cell, len(b))
		for j := range b {
			d := distance(a[i], b[j])
			best := cell{math.Inf(1), 0}
			consider := func(c cell, weight float64) {
				if cost := c.cost + weight*d; cost < best.cost {
					best = cell{cost, c.steps + weight}
				}
			}
			switch {
			case i == 0 && j == 0:
				best = cell{d, 1}
			case i > 0 && j > 0:
				consider(before[j-1], 2)
				fallthrough
			default:
				if i > 0 {
					consider(before[j], 1)
				}
				if j > 0 {
					consider(now[j-1], 1)
				}
			}
			now[j] = best
		}
		before = now
	}
	if len(a) == 0 || len(b) == 0 {
		return math.Inf(1)
	}
	last := before[len(b)-1]
	return last.cost / last.steps
}

func distance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum)
}
