package vits

import (
	"context"

	"github.com/recital-tts/recital/internal/speech/neural/family"
	"github.com/recital-tts/recital/internal/speech/neural/ort"
)

// Whole implements family.Model.
func (v *Voice) Whole(
	uncut *ort.Session, ids []int64, durations []float64,
) (frames []int, samples []float32, err error) {
	count := int64(len(ids))
	noNoise := ort.Floats([]float32{0, 1, 0}, 3) // noise of the samples, length, noise of the durations
	out, err := uncut.Run(context.Background(), ort.Ints(ids, 1, count), ort.Ints([]int64{count}, 1), noNoise)
	if err != nil {
		return nil, nil, err
	}
	return family.Round(durations), out[0].Floats, nil
}
