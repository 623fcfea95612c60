// Package vits speaks with voices of the family VITS (Kim, Kong and Son, 2021) as Piper exports them: one graph from
// phonemes to samples. It is cut into five parts, so that the first samples are ready before the last are computed,
// durations are known before any sample, and the caller supplies the noise.
package vits

import (
	"errors"
	"fmt"
	"slices"

	"github.com/recital-tts/recital/internal/speech/neural/onnx"
)

// Parts are the parts of a model.
type Parts struct {
	Text, Durations onnx.Part // the text encoder, and the durations that follow from its output
	Flow            onnx.Part
	Coarse, Fine    onnx.Part // the decoder's first stage, and the other stages, which see few columns around their own
	Whole           onnx.Part // the uncut model
	Columns         int       // that the first stage makes of a frame
	Hop             int       // samples in a frame
	Wide            bool      // the decoder takes planes with a height of 1
}

// places are the tensors where a graph is cut.
type places struct {
	ids, lengths string // inputs of the model
	text         string // the text encoder's output
	textMask     string // of the ids
	pace         string // noise of the durations
	durations    string // in frames, before they are scaled and rounded
	mean, spread string // of the prior of each phoneme; the spread is a logarithm
	prior        string // of each frame, with noise
	mask         string // of the frames
	latent       string
	coarse       string // the output of the decoder's first stage
	samples      string
	columns, hop int
}

// Split recognises a model by its structure and cuts it. The error describes the expected structure.
func Split(g *onnx.Graph) (Parts, error) {
	p, err := find(g)
	if err != nil {
		return Parts{}, fmt.Errorf("this is no VITS voice of Piper's kind with one speaker: %w", err)
	}
	decoder, wide := g.Widen(p.latent, p.samples)
	if !wide {
		decoder = g
	}
	cut := func(of *onnx.Graph, inputs, outputs []onnx.Value) (part onnx.Part) {
		if err == nil {
			part, err = of.Part(inputs, outputs)
		}
		return part
	}
	floats := onnx.Floats
	return Parts{
		Text:      cut(g, onnx.Ints(p.ids, p.lengths), floats(p.text, p.mean, p.spread)),
		Durations: cut(g, floats(p.text, p.textMask, p.pace), floats(p.durations)),
		Flow:      cut(g, floats(p.prior, p.mask), floats(p.latent)),
		Coarse:    cut(decoder, floats(p.latent), floats(p.coarse)),
		Fine:      cut(decoder, floats(p.coarse), floats(p.samples)),
		Whole:     g.Whole(),
		Columns:   p.columns, Hop: p.hop, Wide: wide,
	}, err
}

// maxHop is the maximum number of samples in a frame.
const maxHop = 4096

// finder finds places in a graph.
type finder struct{ onnx.Finder }

func find(g *onnx.Graph) (places, error) {
	f := &finder{onnx.Finder{Graph: g}}
	if len(g.Inputs) < 3 || len(g.Outputs) != 1 {
		return places{}, errors.New("it needs the inputs input, input_lengths and scales, and one output")
	}
	if len(g.Inputs) > 3 {
		return places{}, errors.New("it has several speakers")
	}
	p := places{ids: g.Inputs[0], lengths: g.Inputs[1], samples: g.Outputs[0], hop: 1}
	p.durations = f.unscaled(f.Above(f.Only("Ceil").Inputs, "Mul"))
	f.findNoise(&p)
	f.findText(&p)
	f.findLatent(&p)
	return p, f.Missed
}

// findNoise finds the two sources of noise. The noise of the durations is scaled immediately, the noise of the prior
// after multiplication with the spread.
func (f *finder) findNoise(p *places) {
	for _, source := range f.With("RandomNormalLike") {
		product := f.Below(source.Output(), "Mul")
		if f.isScale(product.Other(source.Output())) {
			p.pace = product.Output()
			continue
		}
		f.findPrior(p, source, product)
	}
	if p.pace == "" || p.prior == "" {
		f.Miss("two sources of noise, for durations and prior")
	}
}

func (f *finder) findPrior(p *places, source, product onnx.Node) {
	p.spread = f.ofPhonemes(f.Above([]string{product.Other(source.Output())}, "Exp"))
	scaled := f.Below(product.Output(), "Mul")
	sum := f.Below(scaled.Output(), "Add")
	p.prior = sum.Output()
	p.mean = f.ofPhonemes(f.Producer(sum.Other(scaled.Output())))
}

// findText finds the output of the text encoder. A convolution computes mean and spread of the prior from it.
func (f *finder) findText(p *places) {
	masked := f.Above(f.Producer(p.mean).Inputs, "Mul")
	computed := f.Above(masked.Inputs, "Conv")
	p.text, p.textMask = computed.Input(), masked.Other(computed.Output())
}

// ofPhonemes returns the tensor by phoneme from which a product with the alignment computes one by frame. Both are
// transposed.
func (f *finder) ofPhonemes(at onnx.Node) string {
	for range 4 {
		for _, name := range at.Inputs {
			if f.Producer(name).Operator == "Split" {
				return name
			}
		}
		at = f.First(at.Inputs, "MatMul", "Transpose")
	}
	f.Miss("mean and spread of the prior")
	return ""
}

// findLatent finds the input of the decoder, which starts at the first transposed convolution and the layers before it.
func (f *finder) findLatent(p *places) {
	ups := f.With("ConvTranspose")
	if len(ups) < 2 {
		f.Miss("a decoder with two transposed convolutions or more")
		return
	}
	for i, up := range ups {
		for _, stride := range up.Ints("strides") {
			if p.hop *= int(stride); p.hop < 1 || p.hop > maxHop {
				f.Miss("a decoder that makes 1 to 4096 samples of a frame")
				return
			}
		}
		if i == 0 {
			p.columns = p.hop
		}
	}
	p.coarse = f.Above(ups[1].Inputs, "LeakyRelu").Input()
	entry := f.Above(f.Above(ups[0].Inputs, "LeakyRelu").Inputs, "Conv")
	p.latent = entry.Input()
	masked := f.Above(entry.Inputs[:min(1, len(entry.Inputs))], "Mul")
	p.mask = f.Above(masked.Inputs, "Cast").Output()
}

// unscaled returns the factor of a product that is not one of the model's scales.
func (f *finder) unscaled(product onnx.Node) string {
	for _, name := range product.Inputs {
		if f.isScale(product.Other(name)) {
			return name
		}
	}
	f.Miss("durations that are scaled and rounded up")
	return ""
}

// isScale reports whether a tensor is one of the model's three scales.
func (f *finder) isScale(name string) bool {
	n := f.Producer(name)
	return n.Operator == "Gather" && len(f.Inputs) > 2 && slices.Contains(n.Inputs, f.Inputs[2])
}
