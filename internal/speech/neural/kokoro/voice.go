package kokoro

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recital-tts/recital/internal/speech/neural/family"
	"github.com/recital-tts/recital/internal/speech/neural/ort"
	"github.com/recital-tts/recital/internal/speech/resample"
)

// Rate is the sample rate of the voice. It is the rate of all engines, to which the model's samples are resampled.
const Rate = 22050

// Properties of the model.
const (
	ownRate   = 24000
	ownHop    = 600 // samples of a frame
	harmonics = 9
	// MaxIDs bounds the ids of a sentence, including those at its ends.
	MaxIDs = 512
	// MaxID bounds the ids themselves.
	MaxID = 511
	// maxDuration bounds the frames of an id.
	maxDuration = 200
)

// The noise of the source where the voice is voiced and where it is not, as in training.
const (
	voicedNoise   = 0.003
	unvoicedNoise = 0.1 / 3
)

// A file of styles has a row for each number of phonemes.
const (
	styleRows = 510
	styleSize = 256
)

// Model is a loaded model, which speaks with the styles of several voices.
type Model struct {
	encoder, source, decoder *ort.Session
	phases, noise            bool // as in Parts
}

// Load loads the parts of a model.
func Load(parts Parts) (*Model, error) {
	m := &Model{phases: parts.Phases, noise: parts.Noise}
	var errs [3]error
	m.encoder, errs[0] = ort.Load(parts.Encoder, 1)
	m.source, errs[1] = ort.Load(parts.Source, 1)
	m.decoder, errs[2] = ort.Load(parts.Decoder, 1)
	return m, errors.Join(errs[:]...)
}

// Voice is a model with the styles of one voice. It is safe for concurrent use.
type Voice struct {
	*Model
	styles []float32
}

// maxStyle bounds the absolute values in styles.
const maxStyle = 100

// With returns a voice that speaks with the styles of a file.
func (m *Model) With(file []byte) (*Voice, error) {
	styles := make([]float32, styleRows*styleSize)
	if n, err := binary.Decode(file, binary.LittleEndian, styles); err != nil || n != len(file) {
		return nil, fmt.Errorf("the voice's styles have %d bytes, and %d are expected", len(file), 4*len(styles))
	}
	if slices.ContainsFunc(styles, func(v float32) bool { return !(math.Abs(float64(v)) <= maxStyle) }) { // or NaN
		return nil, errors.New("the voice's styles have a number that is out of range")
	}
	return &Voice{Model: m, styles: styles}, nil
}

// style returns the style for a sentence with this number of ids.
func (v *Voice) style(ids int) ort.Tensor {
	row := max(0, min(ids-2, styleRows-1))
	return ort.Floats(v.styles[row*styleSize:][:styleSize], 1, styleSize)
}

// Hop implements family.Model.
func (v *Voice) Hop() float64 { return float64(ownHop) * Rate / ownRate }

// Encode implements family.Model.
func (v *Voice) Encode(ctx context.Context, ids []int64, noise family.Noise) (family.Sentence, error) {
	if len(ids) == 0 || len(ids) > MaxIDs {
		return family.Sentence{}, fmt.Errorf("encoding a sentence: it has %d phonemes", len(ids))
	}
	style := v.style(len(ids))
	out, err := v.encoder.Run(ctx, ort.Ints(ids, 1, int64(len(ids))), style)
	if err != nil {
		return family.Sentence{}, fmt.Errorf("encoding a sentence: %w", err)
	}
	durations, err := family.Durations(out[0].Floats, len(ids), maxDuration)
	s := sentence{model: v.Model, style: style, features: out[1:], noise: noise}
	return family.Sentence{Durations: durations, Speak: func(frames []int, write func([]float32) error) error {
		samples, err := s.samples(ctx, frames)
		if err != nil {
			return err
		}
		return write(resampled(samples))
	}}, err
}

// sentence is an encoded sentence.
type sentence struct {
	model    *Model
	style    ort.Tensor
	features []ort.Tensor
	noise    family.Noise
}

// resampled returns samples of the model at the rate of all engines.
func resampled(own []float32) []float32 {
	input := make([]float64, len(own))
	for i, v := range own {
		input[i] = float64(v)
	}
	r := resample.New(ownRate, Rate)
	output := append(r.Add(input), r.Finish()...)
	samples := make([]float32, int(math.Round(float64(len(own))*Rate/ownRate)))
	for i := range min(len(samples), len(output)) {
		samples[i] = float32(output[i])
	}
	return samples
}

// samples computes all samples at the model's own rate.
func (s sentence) samples(ctx context.Context, frames []int) ([]float32, error) {
	count, err := family.Count(frames)
	if err != nil || count == 0 {
		return nil, err
	}
	wanted := make([]float32, len(frames))
	for i, n := range frames {
		wanted[i] = float32(n)
	}
	given := append([]ort.Tensor{s.style, ort.Floats(wanted, 1, int64(len(wanted)))}, s.features...)
	excitation, err := s.excitation(ctx, given, count*ownHop)
	if err != nil {
		return nil, err
	}
	out, err := s.model.decoder.Run(ctx, append(given, excitation)...)
	if err != nil {
		return nil, fmt.Errorf("decoding a sentence: %w", err)
	}
	if len(out[0].Floats) != count*ownHop {
		return nil, errors.New("decoding a sentence: the model returns another number of samples")
	}
	return out[0].Floats, nil
}

// Streams of random numbers for one seed.
const (
	phaseStream = 1
	soundStream = 2
)

// excitation returns the harmonics of each sample, with noise.
func (s sentence) excitation(ctx context.Context, given []ort.Tensor, samples int) (ort.Tensor, error) {
	if s.model.phases {
		given = append(slices.Clone(given), phases(s.noise))
	}
	out, err := s.model.source.Run(ctx, given...)
	if err != nil {
		return ort.Tensor{}, fmt.Errorf("exciting a sentence: %w", err)
	}
	values := out[0].Floats
	if len(values) != samples*harmonics {
		return ort.Tensor{}, errors.New("exciting a sentence: the model returns a tensor of another size")
	}
	noise := family.NewGaussian(s.noise.Seed, soundStream).Draw(len(values), s.noise.Sound)
	for at := 0; at < len(values); at += harmonics {
		level := float32(unvoicedNoise)
		if slices.ContainsFunc(values[at:at+harmonics], func(v float32) bool { return v != 0 }) {
			level = voicedNoise
		}
		for i := range harmonics {
			values[at+i] += level * noise[at+i]
		}
	}
	return out[0], nil
}

// phases returns the initial phases of the harmonics, as fractions of a period.
func phases(noise family.Noise) ort.Tensor {
	values := make([]float32, harmonics)
	random := rand.New(rand.NewPCG(noise.Seed, phaseStream))
	for i := range values {
		values[i] = float32(random.Float64() * min(noise.Sound, 1))
	}
	return ort.Floats(values, 1, harmonics)
}
