package vits

import (
	"context"
	"errors"
	"fmt"

	"github.com/recital-tts/recital/internal/speech/neural/family"
	"github.com/recital-tts/recital/internal/speech/neural/onnx"
	"github.com/recital-tts/recital/internal/speech/neural/ort"
)

// Compare implements family.Model.
func (v *Voice) Compare(whole onnx.Part, sentences [][]int64) (c family.Comparison, err error) {
	session, err := ort.Load(whole, 1)
	if err != nil {
		return c, fmt.Errorf("loading the whole model: %w", err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	return family.Compare(sentences, func(ids []int64) ([]float32, error) {
		count := int64(len(ids))
		noNoise := ort.Floats([]float32{0, 1, 0}, 3) // noise of the samples, length, noise of the durations
		out, err := session.Run(context.Background(), ort.Ints(ids, 1, count), ort.Ints([]int64{count}, 1), noNoise)
		if err != nil {
			return nil, err
		}
		return out[0].Floats, nil
	}, func(ids []int64) ([]float32, error) {
		s, err := v.Encode(context.Background(), ids, family.Noise{})
		if err != nil {
			return nil, err
		}
		return s.Samples(family.Round(s.Durations))
	})
}
