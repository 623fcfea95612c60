package vits

import (
	"errors"
	"fmt"
	"math"

	"github.com/recital-tts/recital/internal/speech/neural/ort"
)

// Equal is the difference of equal samples, in decibels.
const Equal = -200

// Difference returns how far the samples of the voice are from those that the whole model computes at once, without
// noise, in decibels: that of the sentence that differs most. The sentences are ids.
func (v *Voice) Difference(whole Part, sentences [][]int64) (decibels float64, err error) {
	session, err := ort.Load(whole.Model, whole.Inputs, whole.Outputs)
	if err != nil {
		return 0, fmt.Errorf("loading the whole model: %w", err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	decibels = Equal
	for _, ids := range sentences {
		of, err := v.difference(session, ids)
		if err != nil {
			return 0, err
		}
		decibels = max(decibels, of)
	}
	return decibels, nil
}

func (v *Voice) difference(whole *ort.Session, ids []int64) (float64, error) {
	count := int64(len(ids))
	noNoise := ort.Floats([]float32{0, 1, 0}, 3) // of the sound, the length, and of the durations
	out, err := whole.Run(ort.Ints(ids, 1, count), ort.Ints([]int64{count}, 1), noNoise)
	if err != nil {
		return 0, fmt.Errorf("running the whole model: %w", err)
	}
	e, err := v.Encode(ids, Noise{})
	if err != nil {
		return 0, err
	}
	var samples []float32
	err = v.Speak(e, Round(e.Durations), func(chunk []float32) error {
		samples = append(samples, chunk...)
		return nil
	})
	if err != nil {
		return 0, err
	}
	if len(samples) != len(out[0].Floats) {
		return 0, fmt.Errorf("the parts of the model give %d samples, and the whole gives %d", len(samples),
			len(out[0].Floats))
	}
	return apart(out[0].Floats, samples), nil
}

// apart returns the energy of a difference, compared with that of what is wanted, in decibels.
func apart(wanted, got []float32) float64 {
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
