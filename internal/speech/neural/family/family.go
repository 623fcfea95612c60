// Package family defines the interface of a voice model, and the computations that model families share.
package family

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recital-tts/recital/internal/speech/neural/ort"
)

// Model is a loaded model. It is safe for concurrent use.
type Model interface {
	// Hop returns the number of samples in a frame.
	Hop() float64
	// Encode encodes the ids of a sentence. It and the sentence's Speak are cancelled when ctx ends.
	Encode(ctx context.Context, ids []int64, noise Noise) (Sentence, error)
	// Whole speaks the ids of a sentence with the uncut model, without noise. It returns its frames for each id, which
	// follow from the durations, and all samples.
	Whole(uncut *ort.Session, ids []int64, durations []float64) (frames []int, samples []float32, err error)
}

// Noise is the amount of a voice's random variation: 0 is none, 1 as much as in training.
type Noise struct {
	Sound float64 // of the samples
	Pace  float64 // of the durations
	Seed  uint64  // of both
}

// Sentence is an encoded sentence that has no samples yet.
type Sentence struct {
	Durations []float64 // of each id, in frames at speed 1
	// Speak computes the samples of the sentence with the given number of frames for each id, and passes them to write,
	// which may keep and change the slices.
	Speak func(frames []int, write func(samples []float32) error) error
}

// Samples returns all samples of the sentence.
func (s Sentence) Samples(frames []int) (samples []float32, err error) {
	err = s.Speak(frames, func(chunk []float32) error {
		samples = append(samples, chunk...)
		return nil
	})
	return samples, err
}

// Gaussian is a stream of normally distributed numbers.
type Gaussian struct{ random *rand.Rand }

// NewGaussian returns a stream, which is the same for the same seed and stream.
func NewGaussian(seed, stream uint64) Gaussian { return Gaussian{rand.New(rand.NewPCG(seed, stream))} }

// Draw returns the next count numbers, with the standard deviation scale.
func (g Gaussian) Draw(count int, scale float64) []float32 {
	values := make([]float32, count)
	for i := range values {
		values[i] = float32(g.random.NormFloat64() * scale)
	}
	return values
}

// Round rounds the numbers of frames. Rounding errors are carried over, so that the sum is off by at most half a frame.
func Round(wanted []float64) []int {
	frames := make([]int, len(wanted))
	var sum float64
	given := 0
	for i, d := range wanted {
		sum += d
		frames[i] = max(0, int(math.Round(sum))-given)
		given += frames[i]
	}
	return frames
}

// maxFrames bounds the frames of a sentence to many minutes.
const maxFrames = 100_000

// Count returns the number of frames of a sentence, or an error if there are too many.
func Count(frames []int) (count int, err error) {
	for _, n := range frames {
		count += n
	}
	if count > maxFrames {
		return 0, fmt.Errorf("speaking a sentence: it has more than %d frames", maxFrames)
	}
	return count, nil
}

// Durations checks the durations in frames that a model returns for ids. Each may be at most the given maximum.
func Durations(values []float32, ids int, most float64) ([]float64, error) {
	if len(values) != ids {
		return nil, errors.New("encoding a sentence: the model returns tensors of other sizes")
	}
	durations := make([]float64, ids)
	for i, d := range values {
		if !(d >= 0 && float64(d) <= most) { // also refuses NaN
			return nil, errors.New("encoding a sentence: the model returns an invalid duration")
		}
		durations[i] = float64(d)
	}
	return durations, nil
}
