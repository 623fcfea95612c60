package kokoro

import (
	"context"
	"errors"
	"fmt"
	"math"

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
		return v.whole(session, len(whole.Inputs), ids)
	}, func(ids []int64) ([]float32, error) {
		s, frames, err := v.quiet(ids)
		if err != nil {
			return nil, err
		}
		return s.samples(context.Background(), frames)
	})
}

// quiet encodes a sentence without noise, and rounds its durations like the whole model.
func (v *Voice) quiet(ids []int64) (s sentence, frames []int, err error) {
	s, durations, err := v.encode(context.Background(), ids, family.Noise{})
	for _, d := range durations {
		frames = append(frames, int(max(1, math.RoundToEven(d))))
	}
	return s, frames, err
}

// whole runs the whole model without noise. The number of its inputs depends on the noise that it has.
func (v *Voice) whole(session *ort.Session, inputs int, ids []int64) ([]float32, error) {
	s, frames, err := v.quiet(ids)
	if err != nil {
		return nil, err
	}
	given := []ort.Tensor{ort.Ints(ids, 1, int64(len(ids))), s.style, ort.Floats([]float32{1}, 1)}
	if v.hasPhases {
		given = append(given, s.phases())
	}
	if len(given) < inputs {
		count, err := family.Count(frames)
		if err != nil {
			return nil, err
		}
		samples := count * ownHop
		given = append(given, ort.Floats(make([]float32, samples*harmonics), 1, int64(samples), harmonics))
	}
	out, err := session.Run(context.Background(), given...)
	if err != nil {
		return nil, err
	}
	return out[0].Floats, nil
}
