package enginetest

import (
	"encoding/binary"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// The range of the fundamental frequencies of voices in Hz.
const (
	lowestPitch  = 60
	highestPitch = 450
)

func samplesOf(pcm []byte) []float64 {
	out := make([]float64, len(pcm)/2)
	for i := range out {
		out[i] = float64(int16(binary.LittleEndian.Uint16(pcm[2*i:])))
	}
	return out
}

// loudness returns the root mean square.
func loudness(pcm []byte) float64 {
	samples := samplesOf(pcm)
	return math.Sqrt(floats.Dot(samples, samples) / float64(len(samples)))
}

// pitches returns the fundamental frequencies of the voiced frames in semitones above 1 Hz, by autocorrelation.
func pitches(pcm []byte, rate int) []float64 {
	samples := samplesOf(pcm)
	frame, longest, shortest := rate/20, rate/lowestPitch, rate/highestPitch
	threshold := loudness(pcm) / 2
	var out []float64
	for at := 0; at+frame+longest < len(samples); at += frame / 2 {
		energy := correlation(samples[at:], 0, frame)
		if math.Sqrt(energy/float64(frame)) < threshold {
			continue
		}
		best, lag := 0.0, 0
		for l := shortest; l <= longest; l++ {
			norm := math.Sqrt(energy * correlation(samples[at+l:], 0, frame))
			if c := correlation(samples[at:], l, frame) / max(norm, 1); c > best+0.02 { // of equal ones the shortest
				best, lag = c, l
			}
		}
		if best > 0.7 {
			out = append(out, 12*math.Log2(float64(rate)/float64(lag)))
		}
	}
	slices.Sort(out)
	return out
}

func correlation(samples []float64, lag, frame int) float64 {
	return floats.Dot(samples[:frame], samples[lag:lag+frame])
}

// quantile returns a quantile of sorted values.
func quantile(values []float64, q float64) float64 {
	return values[int(q*float64(len(values)-1))]
}

// MedianPitch returns the median of the fundamental frequency in semitones above 1 Hz.
func MedianPitch(pcm []byte, rate int) float64 { return quantile(pitches(pcm, rate), 0.5) }
