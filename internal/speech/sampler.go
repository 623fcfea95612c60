package speech

import (
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
)

// The deviations that can be drawn: a ladder of quarter steps to both sides of the voice's own way.
const (
	rungsPerStep = 4
	rungs        = 24 // to each side: 6 steps
)

// deviation is the distance of a phrase from the voice's own way, in steps, for each of the properties.
type deviation struct{ pitch, width, rate, gain, pause float64 }

// sampler draws deviations as a language model draws tokens: a rung of z steps has the logit -z²/2, which is divided
// by the temperature; of the rungs in the order of their probability, the first top_k are kept, and of these the
// fewest that together have the probability top_p (Holtzman et al., ICLR 2020).
type sampler struct {
	source *rand.PCG
	rungs  []rung // that can be drawn, in the order of their probability
	total  float64
	memory int
	last   []deviation // at most memory draws
}

type rung struct{ steps, weight float64 }

// newSampler returns a sampler for one segment. Its draws depend on the seed and the segment's text, and not on the
// position of the segment, so that a text that arrives in pieces is spoken like a complete one.
func newSampler(m manner, seed int64, text string) *sampler {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, text)
	s := &sampler{source: rand.NewPCG(uint64(seed), hash.Sum64()), memory: m.memory}
	s.rungs = nucleus(ladder(m.temperature, m.topK), m.topP)
	for _, r := range s.rungs {
		s.total += r.weight
	}
	return s
}

// ladder returns the topK most likely rungs (all if 0), sorted by probability. Of two equal ones the higher is first.
func ladder(temperature float64, topK int) []rung {
	var out []rung
	for i := range rungs + 1 {
		steps := float64(i) / rungsPerStep
		weight := math.Exp(-steps * steps / 2 / max(temperature, 1e-9))
		out = append(out, rung{steps, weight})
		if i > 0 {
			out = append(out, rung{-steps, weight})
		}
	}
	if topK > 0 && topK < len(out) {
		out = out[:topK]
	}
	return out
}

// nucleus returns the most likely rungs that together have the probability topP, at least one.
func nucleus(ladder []rung, topP float64) []rung {
	total := 0.0
	for _, r := range ladder {
		total += r.weight
	}
	reached := 0.0
	for i, r := range ladder {
		if reached += r.weight; reached >= topP*total {
			return ladder[:i+1]
		}
	}
	return ladder
}

// next returns the mean of the last draws, up to the number in memory.
func (s *sampler) next() deviation {
	s.last = append(s.last, deviation{s.draw(), s.draw(), s.draw(), s.draw(), s.draw()})
	if len(s.last) > s.memory {
		s.last = s.last[1:]
	}
	var sum deviation
	for _, d := range s.last {
		sum.pitch += d.pitch
		sum.width += d.width
		sum.rate += d.rate
		sum.gain += d.gain
		sum.pause += d.pause
	}
	n := float64(len(s.last))
	return deviation{sum.pitch / n, sum.width / n, sum.rate / n, sum.gain / n, sum.pause / n}
}

func (s *sampler) draw() float64 {
	left := float64(s.source.Uint64()>>11) / (1 << 53) * s.total // not rand.Float64, whose values may change with Go
	for _, r := range s.rungs {
		if left -= r.weight; left < 0 {
			return r.steps
		}
	}
	return s.rungs[len(s.rungs)-1].steps
}
