package vits

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/recital-tts/recital/internal/speech/neural/family"
	"github.com/recital-tts/recital/internal/speech/neural/onnx"
	"github.com/recital-tts/recital/internal/speech/neural/ort"
)

// The number of frames that a part has to see on each side of its frames for the same result as the whole model: the
// flow has four layers of 8, and the decoder sees 10.7 (3 in its first convolution, 7.7 in the following ones).
const (
	flowContext    = 32
	decoderContext = 11
)

// minFlow is the smallest number of frames for which ONNX Runtime adds up the flow in the same order as for the whole
// sentence. With fewer, the flow differs by -119 dB, and the decoder's samples by -91 dB.
const minFlow = 65

// The number of frames in a chunk. The first chunk is short, so that samples come early, but long enough to be heard
// until the next one is ready on a busy machine. Each chunk is twice as long as the one before, up to largestChunk.
// Compared with a largest chunk of 128 frames, it saves 17 MiB and costs 8 % more processor time. Different sizes round
// differently, so a change of these numbers changes the samples.
const (
	firstChunk   = 20
	largestChunk = 64
)

// maxDuration bounds the frames of an id.
const maxDuration = 5_000

// Voice is a loaded model. It is safe for concurrent use.
type Voice struct {
	encoder, flow, decoder *ort.Session
	hop                    int
	wide                   bool // as in Parts
}

// Load loads the parts of a model.
func Load(parts Parts) (v *Voice, err error) {
	v = &Voice{hop: parts.Hop, wide: parts.Wide}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.Close())
		}
	}()
	for _, load := range []struct {
		name string
		part onnx.Part
		to   **ort.Session
	}{{"encoder", parts.Encoder, &v.encoder}, {"flow", parts.Flow, &v.flow}, {"decoder", parts.Decoder, &v.decoder}} {
		if *load.to, err = ort.Load(load.part.Model, load.part.Inputs, load.part.Outputs); err != nil {
			return v, fmt.Errorf("the %s: %w", load.name, err)
		}
	}
	return v, nil
}

// Close frees the model.
func (v *Voice) Close() (err error) {
	for _, s := range []*ort.Session{v.encoder, v.flow, v.decoder} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}

// Hop implements family.Model.
func (v *Voice) Hop() float64 { return float64(v.hop) }

// Streams of random numbers for one seed.
const (
	paceStream  = 1
	soundStream = 2
)

// prior is the distribution that the frames of a sentence are drawn from.
type prior struct {
	mean, spread []float32 // by channel and id; the spread as a logarithm
	channels     int
	noise        family.Noise
}

// Encode implements family.Model.
func (v *Voice) Encode(ctx context.Context, ids []int64, noise family.Noise) (family.Sentence, error) {
	if len(ids) == 0 {
		return family.Sentence{}, errors.New("encoding a sentence: it has no phonemes")
	}
	count := int64(len(ids))
	pace := family.Gaussian(noise.Seed, paceStream, 2*len(ids), noise.Pace)
	out, err := v.encoder.Run(ctx, ort.Ints(ids, 1, count), ort.Ints([]int64{count}, 1), ort.Floats(pace, 1, 2, count))
	if err != nil {
		return family.Sentence{}, fmt.Errorf("encoding a sentence: %w", err)
	}
	durations, err := family.Durations(out[0].Floats, len(ids), maxDuration)
	if err != nil {
		return family.Sentence{}, err
	}
	for i, d := range durations {
		durations[i] = math.Ceil(d)
	}
	e := prior{mean: out[1].Floats, spread: out[2].Floats, noise: noise}
	if len(e.mean) != len(e.spread) || len(e.mean)%len(ids) != 0 || len(e.mean) == 0 {
		return family.Sentence{}, errors.New("encoding a sentence: the model returns tensors of other sizes")
	}
	e.channels = len(e.mean) / len(ids)
	return family.Sentence{Durations: durations, Speak: func(frames []int, write func([]float32) error) error {
		return v.speak(ctx, e, frames, write)
	}}, nil
}

// speak computes the samples of a sentence, and passes them to write chunk by chunk.
func (v *Voice) speak(ctx context.Context, e prior, frames []int, write func(samples []float32) error) error {
	count, err := family.Count(frames)
	if err != nil {
		return err
	}
	s := &sentence{voice: v, channels: e.channels, frames: count}
	s.prior = e.expand(frames, s.frames)
	for from, size := 0, firstChunk; from < s.frames; size = min(2*size, largestChunk) {
		to := from + size
		if s.frames-to < size/2 && s.frames-from <= largestChunk { // a short last chunk would cost more than a longer one
			to = s.frames
		}
		to = min(to, s.frames)
		samples, err := s.decode(ctx, from, to)
		if err != nil {
			return err
		}
		if err := write(samples); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// expand draws the prior of each of the count frames. The result is by frame and channel.
func (e prior) expand(frames []int, count int) []float32 {
	prior := family.Gaussian(e.noise.Seed, soundStream, count*e.channels, e.noise.Sound)
	at := 0
	for id, n := range frames {
		for range n {
			for c := range e.channels {
				i := c*len(frames) + id
				prior[at] = e.mean[i] + prior[at]*float32(math.Exp(float64(e.spread[i])))
				at++
			}
		}
	}
	return prior
}

// sentence is a sentence that is being spoken.
type sentence struct {
	voice    *Voice
	channels int
	frames   int
	prior    []float32 // by frame and channel
	latent   []float32 // by frame and channel, of the frames computed so far
}

// decode computes the samples of the frames in [from, to).
func (s *sentence) decode(ctx context.Context, from, to int) ([]float32, error) {
	first, last := max(0, from-decoderContext), min(s.frames, to+decoderContext)
	if err := s.flowUpTo(ctx, last); err != nil {
		return nil, err
	}
	latent := s.tensor(s.latent, first, last)
	if s.voice.wide {
		latent.Shape = slices.Insert(latent.Shape, 2, 1)
	}
	out, err := s.voice.decoder.Run(ctx, latent)
	if err != nil {
		return nil, fmt.Errorf("decoding a sentence: %w", err)
	}
	hop := s.voice.hop
	if len(out[0].Floats) != (last-first)*hop {
		return nil, errors.New("decoding a sentence: the model returns another number of samples")
	}
	return out[0].Floats[(from-first)*hop : (to-first)*hop], nil
}

// flowUpTo computes the missing latent of the frames before last. After the first call it computes up to twice as many,
// so that fewer runs see the same frames.
func (s *sentence) flowUpTo(ctx context.Context, last int) error {
	done := len(s.latent) / s.channels
	if done >= last {
		return nil
	}
	if done > 0 {
		last = min(s.frames, last+min(last, largestChunk))
	}
	from := max(0, min(done-flowContext, s.frames-minFlow))
	to := min(s.frames, max(last+flowContext, from+minFlow))
	mask := make([]float32, to-from)
	for i := range mask {
		mask[i] = 1
	}
	out, err := s.voice.flow.Run(ctx, s.tensor(s.prior, from, to), ort.Floats(mask, 1, 1, int64(len(mask))))
	if err != nil {
		return fmt.Errorf("computing the flow of a sentence: %w", err)
	}
	if len(out[0].Floats) != (to-from)*s.channels {
		return errors.New("computing the flow of a sentence: the model returns a tensor of another size")
	}
	for frame := done; frame < last; frame++ {
		for c := range s.channels {
			s.latent = append(s.latent, out[0].Floats[c*(to-from)+frame-from])
		}
	}
	return nil
}

// tensor returns the frames in [from, to) by channel, the order that models take.
func (s *sentence) tensor(byFrame []float32, from, to int) ort.Tensor {
	count := to - from
	values := make([]float32, count*s.channels)
	for frame := range count {
		for c := range s.channels {
			values[c*count+frame] = byFrame[(from+frame)*s.channels+c]
		}
	}
	return ort.Floats(values, 1, int64(s.channels), int64(count))
}
