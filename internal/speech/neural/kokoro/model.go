// Package kokoro speaks with voices of the family StyleTTS 2 (Li et al., 2023) as Kokoro-82M is exported: one graph
// from phonemes, a style and a speed to samples. It is cut into three parts, so that durations are known before any
// sample, and the caller supplies the noise. A sentence cannot be streamed, because the model normalises over all of
// it.
package kokoro

import (
	"errors"
	"fmt"
	"slices"

	"github.com/recital-tts/recital/internal/speech/neural/onnx"
)

// Parts are the parts of a model.
type Parts struct {
	Encoder onnx.Part // from ids and style to durations and features
	Source  onnx.Part // from style, frames and features to the harmonics of the voice
	Decoder onnx.Part // from style, frames, features and noisy harmonics to samples
	Whole   onnx.Part // the uncut model, with its noise as inputs
	Phases  bool      // Source and Whole take the phases of the harmonics as an input
	Noise   bool      // Whole takes the noise as an input
}

// The inputs of the model other than the ids.
const (
	styleInput = "style"
	speedInput = "speed"
)

// places are the tensors where a graph is cut.
type places struct {
	ids       string
	durations string   // in frames, before they are divided by the speed and rounded
	frames    string   // of each id
	features  []string // of the ids, multiplied with the alignment for the features of frames
	harmonics string   // of each sample, without noise
	excited   string   // the harmonics with noise
	phases    string   // random phases of the harmonics; "" if the model has none
	noise     string   // random noise of each sample and harmonic; "" if the model has none
	samples   string
}

// Like reports whether a model has the inputs of this family.
func Like(g *onnx.Graph) bool { return slices.Contains(g.Inputs, styleInput) }

// Split recognises a model by its structure and cuts it. The error describes the expected structure.
func Split(g *onnx.Graph) (Parts, error) {
	p, err := find(g)
	if err != nil {
		return Parts{}, fmt.Errorf("this is no Kokoro: %w", err)
	}
	cut := func(inputs, outputs []onnx.Value) (part onnx.Part) {
		if err == nil {
			part, err = g.Part(inputs, outputs)
		}
		return part
	}
	floats := onnx.Floats
	tokens := append(onnx.Ints(p.ids), floats(styleInput)...)
	features := floats(p.features...)
	middle := append(floats(styleInput, p.frames), features...)
	parts := Parts{
		Encoder: cut(tokens, append(floats(p.durations), features...)),
		Source:  cut(slices.Concat(middle, floats(p.phases)), floats(p.harmonics)),
		Decoder: cut(slices.Concat(middle, floats(p.excited)), floats(p.samples)),
		Whole:   cut(slices.Concat(tokens, floats(speedInput, p.phases, p.noise)), floats(p.samples)),
		Phases:  p.phases != "", Noise: p.noise != "",
	}
	if err != nil {
		return Parts{}, fmt.Errorf("this is no Kokoro: %w", err)
	}
	return parts, nil
}

func find(g *onnx.Graph) (places, error) {
	f := &onnx.Finder{Graph: g}
	ids := slices.DeleteFunc(slices.Clone(g.Inputs), func(name string) bool {
		return name == styleInput || name == speedInput || g.IsWeight(name)
	})
	if len(ids) != 1 || len(g.Outputs) != 1 || !Like(g) || !slices.Contains(g.Inputs, speedInput) {
		return places{}, errors.New("it needs the inputs tokens, style and speed, and one output")
	}
	p := places{ids: ids[0], samples: g.Outputs[0]}
	rounded := f.Only("Round")
	p.durations = f.Above(rounded.Inputs, "Div").Input()
	p.frames = f.Below(rounded.Output(), "Clip").Output()
	if p.features = featuresOf(f, p.frames); len(p.features) != 2 {
		f.Miss("two products of the alignment with features of the phonemes")
	}
	findSource(f, &p)
	return p, f.Missed
}

// featuresOf returns the tensors that are multiplied with the alignment, which is computed from frames.
func featuresOf(f *onnx.Finder, frames string) (features []string) {
	seen := map[string]bool{frames: true}
	for open := []string{frames}; len(open) > 0; {
		name := open[0]
		open = open[1:]
		for _, n := range f.Consumers(name) {
			if n.Operator == "MatMul" || n.Operator == "FusedMatMul" {
				features = append(features, n.Other(name))
				continue
			}
			for _, output := range n.Outputs {
				if !seen[output] {
					seen[output], open = true, append(open, output)
				}
			}
		}
	}
	return features
}

// findSource finds the voice's source: sines in voiced samples, and noise.
func findSource(f *onnx.Finder, p *places) {
	for _, n := range f.With("Greater") {
		for _, voiced := range f.Consumers(n.Output()) {
			for _, product := range f.Consumers(voiced.Output()) {
				if product.Operator == "Mul" && hasSine(f, product.Other(voiced.Output())) {
					p.harmonics, p.excited = product.Output(), product.Output()
				}
			}
		}
	}
	if p.harmonics == "" {
		f.Miss("a source of sines where the voice is voiced")
	}
	for _, n := range f.Nodes {
		switch {
		case !onnx.IsRandom(n):
		case n.Operator == "RandomUniformLike" && p.phases == "":
			p.phases = n.Output()
		case n.Operator == "RandomNormalLike" && p.noise == "":
			p.noise = n.Output()
		default:
			f.Miss("known sources of noise")
		}
	}
	if p.noise != "" {
		p.excited = f.Below(p.harmonics, "Add").Output()
	}
}

// hasSine reports whether a tensor is a product with a sine.
func hasSine(f *onnx.Finder, name string) bool {
	return f.First(f.First([]string{name}, "Mul").Inputs, "Sin").Operator != ""
}
