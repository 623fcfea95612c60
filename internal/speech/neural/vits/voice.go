package vits

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/recital-tts/recital/internal/speech/neural/family"
	"github.com/recital-tts/recital/internal/speech/neural/ort"
)

// The number of frames that a part has to see on each side of its frames for the same result as the whole model: the
// flow has four layers of 8, the decoder's first stage sees 9.7 (3 in its first convolution, 6.7 in the following
// ones), and its other stages together see 0.9, or 1.8 in voices that Piper calls high.
const (
	flowContext   = 32
	coarseContext = 10
	fineContext   = 2
)

// minFlow is the smallest number of frames for which ONNX Runtime adds up the flow in the same order as for the whole
// sentence. With fewer, the flow differs by -119 dB, and the decoder's samples by -91 dB.
const minFlow = 65

// earlyThreads is the number of threads of the parts that take most of the time to the first samples: the text encoder
// and the flow. Results do not depend on the machine's load. With one thread those of the text encoder are the same,
// bit by bit, and those of the flow are rounded differently.
const earlyThreads = 2

// The number of frames in a chunk. The first chunk is short, so that samples come early. The second is ready long
// before the first was heard, even on a busy machine, because the same run of the flow gives both. Each chunk is twice
// as long as the one before, up to largestChunk. A largest chunk of 64 frames would take 6 MiB more. Different sizes
// round differently, so a change of these numbers changes the samples.
const (
	firstChunk   = (minFlow - flowContext - coarseContext - fineContext) / 3
	largestChunk = 8 * firstChunk
)

// maxDuration bounds the frames of an id.
const maxDuration = 5_000

// Voice is a loaded model. It is safe for concurrent use.
type Voice struct {
	text, durations, flow, coarse, fine *ort.Session
	columns, hop                        int
	wide                                bool // as in Parts
}

// Load loads the parts of a model.
func Load(parts Parts) (*Voice, error) {
	v := &Voice{columns: parts.Columns, hop: parts.Hop, wide: parts.Wide}
	var errs [5]error
	v.text, errs[0] = ort.Load(parts.Text, earlyThreads)
	v.durations, errs[1] = ort.Load(parts.Durations, 1)
	v.flow, errs[2] = ort.Load(parts.Flow, earlyThreads)
	v.coarse, errs[3] = ort.Load(parts.Coarse, 1)
	v.fine, errs[4] = ort.Load(parts.Fine, 1)
	return v, errors.Join(errs[:]...)
}

// Hop implements family.Model.
func (v *Voice) Hop() float64 { return float64(v.hop) }

// Streams of random numbers for one seed.
const (
	paceStream  = 1
	soundStream = 2
)

// Encode implements family.Model.
func (v *Voice) Encode(ctx context.Context, ids []int64, noise family.Noise) (family.Sentence, error) {
	if len(ids) == 0 {
		return family.Sentence{}, errors.New("encoding a sentence: it has no phonemes")
	}
	count := int64(len(ids))
	out, err := v.text.Run(ctx, ort.Ints(ids, 1, count), ort.Ints([]int64{count}, 1))
	if err != nil {
		return family.Sentence{}, fmt.Errorf("encoding a sentence: %w", err)
	}
	durations, err := v.durationsOf(ctx, out[0], len(ids), noise)
	if err != nil {
		return family.Sentence{}, err
	}
	mean, spread := out[1].Floats, out[2].Floats
	if len(mean) != len(spread) || len(mean)%len(ids) != 0 || len(mean) == 0 {
		return family.Sentence{}, errors.New("encoding a sentence: the model returns tensors of other sizes")
	}
	return family.Sentence{Durations: durations, Speak: func(frames []int, write func([]float32) error) error {
		return v.speak(ctx, &prior{
			mean: mean, spread: spread, left: slices.Clone(frames),
			random: family.NewGaussian(noise.Seed, soundStream), noise: noise.Sound,
		}, frames, write)
	}}, nil
}

// durationsOf returns the durations of the ids of an encoded text, in whole frames.
func (v *Voice) durationsOf(ctx context.Context, text ort.Tensor, ids int, noise family.Noise) ([]float64, error) {
	pace := family.NewGaussian(noise.Seed, paceStream).Draw(2*ids, noise.Pace)
	out, err := v.durations.Run(ctx, text, mask(ids), ort.Floats(pace, 1, 2, int64(ids)))
	if err != nil {
		return nil, fmt.Errorf("encoding a sentence: %w", err)
	}
	durations, err := family.Durations(out[0].Floats, ids, maxDuration)
	if err != nil {
		return nil, err
	}
	for i, d := range durations {
		durations[i] = math.Ceil(d)
	}
	return durations, nil
}

// mask returns the mask of count columns, none of which is masked.
func mask(count int) ort.Tensor {
	ones := make([]float32, count)
	for i := range ones {
		ones[i] = 1
	}
	return ort.Floats(ones, 1, 1, int64(count))
}

// speak computes the samples of a sentence, and passes them to write chunk by chunk.
func (v *Voice) speak(ctx context.Context, p *prior, frames []int, write func(samples []float32) error) error {
	count, err := family.Count(frames)
	if err != nil {
		return err
	}
	s := &sentence{
		voice: v, frames: count, prior: p,
		drawn: window{columns: 1}, latent: window{columns: 1}, coarse: window{columns: v.columns},
	}
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

// prior is the distribution that the frames of a sentence are drawn from, one after the other.
type prior struct {
	mean, spread []float32 // by channel and id; the spread as a logarithm
	left         []int     // frames of each id
	id           int
	random       family.Gaussian
	noise        float64
}

// next draws count frames. The result is by frame and channel.
func (p *prior) next(count int) []float32 {
	ids := len(p.left)
	channels := len(p.mean) / ids
	values := p.random.Draw(count*channels, p.noise)
	for at := 0; at < len(values); at += channels {
		for p.left[p.id] == 0 {
			p.id++
		}
		p.left[p.id]--
		for c := range channels {
			i := c*ids + p.id
			values[at+c] = p.mean[i] + values[at+c]*float32(math.Exp(float64(p.spread[i])))
		}
	}
	return values
}

// sentence is a sentence that is being spoken.
type sentence struct {
	voice  *Voice
	frames int
	prior  *prior

	drawn, latent, coarse window
}

// decode computes the samples of the frames in [from, to).
func (s *sentence) decode(ctx context.Context, from, to int) ([]float32, error) {
	first, last := max(0, from-fineContext), min(s.frames, to+fineContext)
	if err := s.coarseUpTo(ctx, last); err != nil {
		return nil, err
	}
	out, err := s.voice.fine.Run(ctx, s.voice.planes(s.coarse.tensor(first, last)))
	if err != nil {
		return nil, fmt.Errorf("decoding a sentence: %w", err)
	}
	hop := s.voice.hop
	if len(out[0].Floats) != (last-first)*hop {
		return nil, errors.New("decoding a sentence: the model returns another number of samples")
	}
	return out[0].Floats[(from-first)*hop : (to-first)*hop], nil
}

// coarseUpTo computes the missing output of the decoder's first stage for the frames before last.
func (s *sentence) coarseUpTo(ctx context.Context, last int) error {
	done := s.coarse.end
	if done >= last {
		return nil
	}
	from, to := max(0, done-coarseContext), min(s.frames, last+coarseContext)
	if err := s.flowUpTo(ctx, to); err != nil {
		return err
	}
	out, err := s.voice.coarse.Run(ctx, s.voice.planes(s.latent.tensor(from, to)))
	if err != nil {
		return fmt.Errorf("decoding a sentence: %w", err)
	}
	s.coarse.forget(done - 2*fineContext)
	s.latent.forget(last - coarseContext)
	return s.coarse.add(out[0].Floats, from, to, last)
}

// flowUpTo computes the missing latent of the frames before last, and of all others that a run gives. After the first
// call it computes up to twice as many, so that fewer runs see the same frames.
func (s *sentence) flowUpTo(ctx context.Context, last int) error {
	done := s.latent.end
	if done >= last {
		return nil
	}
	if done > 0 {
		last = min(s.frames, last+min(last, largestChunk))
	}
	from := max(0, min(done-flowContext, s.frames-minFlow))
	to := min(s.frames, max(last+flowContext, from+minFlow))
	if last = to - flowContext; to == s.frames {
		last = to
	}
	s.drawn.forget(from)
	s.drawn.push(s.prior.next(to-s.drawn.end), to-s.drawn.end)
	out, err := s.voice.flow.Run(ctx, s.drawn.tensor(from, to), mask(to-from))
	if err != nil {
		return fmt.Errorf("computing the flow of a sentence: %w", err)
	}
	return s.latent.add(out[0].Floats, from, to, last)
}

// planes returns a tensor of lines with a height of 1 if the decoder takes planes.
func (v *Voice) planes(lines ort.Tensor) ort.Tensor {
	if v.wide {
		lines.Shape = slices.Insert(lines.Shape, 2, 1)
	}
	return lines
}
