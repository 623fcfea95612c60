package family

import (
	"context"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/recital-tts/recital/internal/speech/neural/onnx"
	"github.com/recital-tts/recital/internal/speech/neural/ort"
)

// Comparison is the result of comparing a model in parts with the whole model that they were cut from, without noise.
type Comparison struct {
	Decibels float64       // the relative error of the sentence that differs most
	Ratio    float64       // of the processor times of parts and whole for the last sentence
	Time     time.Duration // processor time of the parts, which made the samples
	Samples  int
}

// Equal is the relative error of equal samples, in decibels.
const Equal = -200

// Compare lets a model and the whole model speak sentences.
func Compare(m Model, whole onnx.Part, sentences [][]int64) (c Comparison, err error) {
	session, err := ort.Load(whole, 1)
	if err != nil {
		return c, fmt.Errorf("loading the whole model: %w", err)
	}
	c.Decibels = Equal
	for _, ids := range sentences {
		if err := c.add(m, session, ids); err != nil {
			return Comparison{}, err
		}
	}
	return c, nil
}

func (c *Comparison) add(m Model, whole *ort.Session, ids []int64) error {
	s, err := m.Encode(context.Background(), ids, Noise{})
	if err != nil {
		return err
	}
	start := processorTime()
	frames, wanted, err := m.Whole(whole, ids, s.Durations)
	if err != nil {
		return fmt.Errorf("running the whole model: %w", err)
	}
	between := processorTime()
	if s, err = m.Encode(context.Background(), ids, Noise{}); err != nil {
		return err
	}
	got, err := s.Samples(frames)
	if err != nil {
		return err
	}
	took := processorTime() - between
	if len(got) != len(wanted) {
		return fmt.Errorf("the parts of the model give %d samples, and the whole gives %d", len(got), len(wanted))
	}
	c.Decibels = max(c.Decibels, relativeError(wanted, got))
	c.Ratio = took.Seconds() / max(between-start, 1).Seconds()
	c.Time, c.Samples = c.Time+took, c.Samples+len(got)
	return nil
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used) // never fails
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
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
