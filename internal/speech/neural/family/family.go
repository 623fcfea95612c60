// Package family defines the interface of a voice model, and the computations that model families share.
package family

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"

	"github.com/recital-tts/recital/internal/speech/neural/onnx"
)

// Model is a loaded model. It is safe for concurrent use.
type Model interface {
	// Hop returns the number of samples in a frame.
	Hop() float64
	// Encode encodes the ids of a sentence. It and the sentence's Speak are cancelled when ctx ends.
	Encode(ctx context.Context, ids []int64, noise Noise) (Sentence, error)
	// Compare compares the model with the whole model that its parts were cut from, without noise.
	Compare(whole onnx.Part, sentences [][]int64) (Comparison, error)
}

// Comparison is the result of comparing a model in parts with the whole model.
type Comparison struct {
	Decibels float64 // the relative error of the sentence that differs most
	// Parts and Whole are the processor times for the last sentence.
	Parts, Whole time.Duration
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

// Equal is the relative error of equal samples, in decibels.
const Equal = -200

// Compare compares two ways to compute the samples of sentences.
func Compare(sentences [][]int64, whole, parts func(ids []int64) ([]float32, error)) (c Comparison, err error) {
	c.Decibels = Equal
	for _, ids := range sentences {
		var wanted, got []float32
		if wanted, c.Whole, err = timed(whole, ids); err != nil {
			return Comparison{}, fmt.Errorf("running the whole model: %w", err)
		}
		if got, c.Parts, err = timed(parts, ids); err != nil {
			return Comparison{}, err
		}
		if len(got) != len(wanted) {
			return Comparison{}, fmt.Errorf("the parts of the model give %d samples, and the whole gives %d", len(got),
				len(wanted))
		}
		c.Decibels = max(c.Decibels, relativeError(wanted, got))
	}
	return c, nil
}

func timed(speak func(ids []int64) ([]float32, error), ids []int64) ([]float32, time.Duration, error) {
	start, err := ProcessorTime()
	if err != nil {
		return nil, 0, err
	}
	samples, err := speak(ids)
	if err != nil {
		return nil, 0, err
	}
	end, err := ProcessorTime()
	return samples, end - start, err
}

// ProcessorTime returns the processor time that this process has used.
func ProcessorTime() (time.Duration, error) {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("reading the processor time: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}

// relativeError returns the energy of the difference, relative to the energy of wanted, in decibels.
func relativeError(wanted, got []float32) float64 {
	var energy, difference float64
	for i, w := range wanted {
		d := float64(got[i]) - float64(w)
		energy, difference = energy+float64(w)*float64(w), difference+d*d
	}
	if difference == 0 {
		return Equal
	}
	decibels := 10 * math.Log10(difference/energy)
	if math.IsNaN(decibels) || decibels > -Equal {
		return -Equal
	}
	return max(Equal, decibels)
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
