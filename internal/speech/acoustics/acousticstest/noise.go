// Package acousticstest makes noisy recordings for tests and reports.
package acousticstest

import (
	"math"
	"math/rand/v2"
)

// Noise is a kind of noise.
type Noise string

// The noises.
const (
	White  Noise = "white"
	Pink   Noise = "pink"
	Hum    Noise = "hum"    // of the mains: 50 Hz and its harmonics, and a little hiss
	Babble Noise = "babble" // of the people around
)

// Noises returns all noises.
func Noises() []Noise { return []Noise{White, Pink, Hum, Babble} }

// Add returns speech with noise at a ratio in dB of the mean power of the speech, without the pauses at its ends, to
// the power of the noise. Babble consists of the others.
func Add(speech []int16, rate int, noise Noise, ratio float64, others [][]int16) []int16 {
	random := rand.New(rand.NewPCG(1, uint64(len(speech))))
	sound := make([]float64, len(speech))
	switch noise {
	case Pink:
		pink(sound, random)
	case Hum:
		hum(sound, rate, random)
	case Babble:
		babble(sound, others, random)
	default:
		for i := range sound {
			sound[i] = random.NormFloat64()
		}
	}
	from, to := Bounds(speech)
	scale := math.Sqrt(power(floats(speech[from:to])) / power(sound) / math.Pow(10, ratio/10))
	noisy := make([]int16, len(speech))
	for i, s := range speech {
		noisy[i] = int16(min(max(math.Round(float64(s)+scale*sound[i]), math.MinInt16), math.MaxInt16))
	}
	return noisy
}

// Bounds returns the range of an utterance without noise from the first to the last sample above a hundredth of the
// loudest.
func Bounds(speech []int16) (from, to int) {
	loudest := 0.0
	for _, s := range speech {
		loudest = max(loudest, math.Abs(float64(s)))
	}
	for i, s := range speech {
		if math.Abs(float64(s)) > loudest/100 {
			if to == 0 {
				from = i
			}
			to = i + 1
		}
	}
	return from, to
}

func floats(samples []int16) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = float64(s)
	}
	return out
}

func power(samples []float64) (mean float64) {
	for _, s := range samples {
		mean += s * s / float64(len(samples))
	}
	return mean
}

// pink is white noise with 3 dB less in each octave, by three poles (Kellet's filter, 1999).
func pink(sound []float64, random *rand.Rand) {
	var a, b, c float64
	for i := range sound {
		white := random.NormFloat64()
		a = 0.99765*a + white*0.0990460
		b = 0.96300*b + white*0.2965164
		c = 0.57000*c + white*1.0526913
		sound[i] = a + b + c + white*0.1848
	}
}

func hum(sound []float64, rate int, random *rand.Rand) {
	for i := range sound {
		at := float64(i) / float64(rate)
		for harmonic := 1.0; harmonic <= 12; harmonic++ {
			sound[i] += math.Sin(2*math.Pi*50*harmonic*at+harmonic*harmonic) / harmonic
		}
		sound[i] += 0.05 * random.NormFloat64()
	}
}

// babble mixes all voices twice, each repeated from a random position.
func babble(sound []float64, others [][]int16, random *rand.Rand) {
	for range 2 {
		for _, other := range others {
			from, to := Bounds(other)
			other = other[from:to]
			scale, at := 1/math.Sqrt(power(floats(other))), random.IntN(len(other))
			for i := range sound {
				sound[i] += scale * float64(other[(at+i)%len(other)])
			}
		}
	}
}
