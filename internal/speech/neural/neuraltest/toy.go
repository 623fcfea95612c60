// Package neuraltest writes small models with the structure of real voices, and finds ONNX Runtime for tests.
package neuraltest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"

	"google.golang.org/protobuf/encoding/protowire"
)

// The sizes of the toy voice.
const (
	Symbols  = 64
	channels = 4
	stride   = 8 // of each of its two stages
	// ToyHop is the number of samples in a frame.
	ToyHop  = stride * stride
	ToyRate = 22050
)

// model builds an ONNX model.
type model struct {
	graph  []byte
	random *rand.Rand
}

// Toy returns a model of some kilobytes with the cut points of a Piper voice.
func Toy() []byte { return toy(1) }

// OtherToy returns a model like Toy's with other weights.
func OtherToy() []byte { return toy(2) }

func toy(seed uint64) []byte {
	m := &model{random: rand.New(rand.NewPCG(seed, 2))}
	m.constants()
	m.encoder()
	m.alignment()
	m.flow()
	m.decoder()
	m.value(11, "input", 7, 2)
	m.value(11, "input_lengths", 7, 1)
	m.value(11, "scales", 1, 1)
	m.value(12, "output", 1, 4)
	return m.file()
}

func (m *model) file() []byte {
	opset := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 15)
	file := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 8)
	file = message(file, 8, opset)
	return message(file, 7, m.graph)
}

// Config returns the configuration file of the toy, in Piper's format.
func Config() []byte { return ConfigFrom(0) }

// ConfigFrom is like Config with ids that start at first. The toy has only Symbols ids.
func ConfigFrom(first int64) []byte {
	ids := map[string][]int64{}
	for i, symbol := range []rune("_^$ ,.;:!?ˈˌːabdefhijklmnoprstuvwzæðŋɐɑɔəɚɛɜɡɪɹɾʃʊʌʒʔθᵻ") {
		ids[string(symbol)] = []int64{first + int64(i)}
	}
	content, _ := json.Marshal(map[string]any{
		"audio":          map[string]any{"sample_rate": ToyRate},
		"espeak":         map[string]any{"voice": "en-us"},
		"inference":      map[string]any{"noise_scale": 0.3, "noise_w": 0.3, "length_scale": 1},
		"num_speakers":   1,
		"phoneme_id_map": ids,
	})
	return content
}

func (m *model) constants() {
	for i, name := range []string{"zero", "one", "two", "three"} {
		m.ints(name, []int64{int64(i)})
	}
	m.scalars("first", 0)
	m.scalars("second", 1)
	m.scalars("third", 2)
	m.scalars("origin", 0)
	m.scalars("step", 1)
	m.weights("embedding", 0.4, Symbols, channels)
	m.weights("prior.weight", 0.5, 2*channels, channels, 1)
	m.weights("lengths.weight", 0.6, 1, channels, 1)
	m.weights("shape", 0.5, Symbols, 2)
	m.weights("flow.weight", 0.3, channels, channels, 5)
	m.weights("pre.weight", 0.3, channels, channels, 7)
	m.weights("up.weight", 0.3, channels, channels, 2*stride)
	m.weights("on.weight", 0.3, channels, channels, 2*stride)
	m.weights("post.weight", 0.3, 1, channels, 7)
}

func (m *model) encoder() {
	m.node("Gather", []string{"scales", "first"}, []string{"noise"})
	m.node("Gather", []string{"scales", "second"}, []string{"length"})
	m.node("Gather", []string{"scales", "third"}, []string{"pace"})
	m.text()
	m.node("Conv", []string{"text", "prior.weight"}, []string{"prior"})
	m.node("Mul", []string{"prior", "text.mask"}, []string{"prior.masked"})
	m.node("Split", []string{"prior.masked"}, []string{"mean", "spread"}, intAttribute("axis", 1))
	m.byChannel("shape", "shape.channels")
	m.node("RandomNormalLike", []string{"shape.channels"}, []string{"pace.random"})
	m.node("Mul", []string{"pace.random", "pace"}, []string{"pace.noise"})
	m.node("ReduceMean", []string{"pace.noise"}, []string{"pace.mean"}, intsAttribute("axes", 1),
		intAttribute("keepdims", 1))
	m.node("Conv", []string{"text", "lengths.weight"}, []string{"lengths"})
	m.node("Mul", []string{"lengths", "text.mask"}, []string{"lengths.masked"})
	m.node("Add", []string{"lengths.masked", "pace.mean"}, []string{"lengths.log"})
	m.node("Exp", []string{"lengths.log"}, []string{"lengths.exp"})
	m.node("Add", []string{"lengths.exp", "lengths.exp"}, []string{"lengths.double"})
	m.node("Add", []string{"lengths.double", "lengths.double"}, []string{"durations"})
	m.node("Mul", []string{"durations", "length"}, []string{"durations.scaled"})
	m.node("Ceil", []string{"durations.scaled"}, []string{"frames"})
}

// text encodes the symbols. The mask has ones for the symbols of the text.
func (m *model) text() {
	m.node("Shape", []string{"input"}, []string{"shape.input"})
	m.node("Gather", []string{"shape.input", "second"}, []string{"symbols"})
	m.node("Range", []string{"origin", "symbols", "step"}, []string{"positions"})
	m.node("Less", []string{"positions", "input_lengths"}, []string{"text.bool"})
	m.node("Unsqueeze", []string{"text.bool", "mask.axes"}, []string{"text.three"})
	m.node("Cast", []string{"text.three"}, []string{"text.mask"}, intAttribute("to", 1))
	m.byChannel("embedding", "embedded")
	m.node("Mul", []string{"embedded", "text.mask"}, []string{"text"})
}

// byChannel looks symbols up in a table.
func (m *model) byChannel(table, output string) {
	m.node("Gather", []string{table, "input"}, []string{table + ".rows"})
	m.node("Transpose", []string{table + ".rows"}, []string{output}, intsAttribute("perm", 0, 2, 1))
}

// alignment repeats each symbol for its frames. A frame belongs to the symbol that has started and not ended.
func (m *model) alignment() {
	m.node("ReduceSum", []string{"frames"}, []string{"count.float"}, intAttribute("keepdims", 0))
	m.node("Range", []string{"origin.float", "count.float", "step.float"}, []string{"range"})
	m.floats("origin.float", nil, 0)
	m.floats("step.float", nil, 1)
	m.node("Unsqueeze", []string{"range", "one"}, []string{"range.column"})
	m.node("CumSum", []string{"frames", "two.scalar"}, []string{"ends"})
	m.scalars("two.scalar", 2)
	m.node("Sub", []string{"ends", "frames"}, []string{"starts"})
	for _, name := range []string{"ends", "starts"} {
		m.node("Less", []string{"range.column", name}, []string{name + ".before"})
		m.node("Cast", []string{name + ".before"}, []string{name + ".mask"}, intAttribute("to", 1))
	}
	m.node("Sub", []string{"ends.mask", "starts.mask"}, []string{"alignment"})
	for _, name := range []string{"mean", "spread"} {
		m.node("Transpose", []string{name}, []string{name + ".rows"}, intsAttribute("perm", 0, 2, 1))
		m.node("MatMul", []string{"alignment", name + ".rows"}, []string{name + ".repeated"})
		m.node("Transpose", []string{name + ".repeated"}, []string{name + ".frames"}, intsAttribute("perm", 0, 2, 1))
	}
	m.node("RandomNormalLike", []string{"mean.frames"}, []string{"random"})
	m.node("Exp", []string{"spread.frames"}, []string{"deviation"})
	m.node("Mul", []string{"random", "deviation"}, []string{"random.wide"})
	m.node("Mul", []string{"random.wide", "noise"}, []string{"random.scaled"})
	m.node("Add", []string{"mean.frames", "random.scaled"}, []string{"latent.prior"})
	m.node("Less", []string{"range", "count.float"}, []string{"mask.bool"})
	m.node("Unsqueeze", []string{"mask.bool", "mask.axes"}, []string{"mask.three"})
	m.intsOf("mask.axes", 0, 1)
	m.node("Cast", []string{"mask.three"}, []string{"mask"}, intAttribute("to", 1))
}

func (m *model) flow() {
	m.node("Conv", []string{"latent.prior", "flow.weight"}, []string{"flow.out"}, intsAttribute("pads", 2, 2))
	m.node("Tanh", []string{"flow.out"}, []string{"flow.bent"})
	m.node("Mul", []string{"flow.bent", "mask"}, []string{"latent"})
}

func (m *model) decoder() {
	m.node("Conv", []string{"latent", "pre.weight"}, []string{"pre"}, intsAttribute("pads", 3, 3))
	before := "pre"
	for _, name := range []string{"up", "on"} {
		m.node("LeakyRelu", []string{before}, []string{before + ".bent"})
		m.node("ConvTranspose", []string{before + ".bent", name + ".weight"}, []string{name},
			intsAttribute("strides", stride), intsAttribute("pads", stride/2, stride/2))
		before = name
	}
	m.node("LeakyRelu", []string{before}, []string{"on.bent"})
	m.node("Conv", []string{"on.bent", "post.weight"}, []string{"post"}, intsAttribute("pads", 3, 3))
	m.node("Tanh", []string{"post"}, []string{"post.bent"})
	m.node("Unsqueeze", []string{"post.bent", "one"}, []string{"output"})
}

func (m *model) node(operator string, inputs, outputs []string, attributes ...[]byte) {
	var node []byte
	for _, name := range inputs {
		node = text(node, 1, name)
	}
	for _, name := range outputs {
		node = text(node, 2, name)
	}
	node = text(node, 4, operator)
	for _, a := range attributes {
		node = message(node, 5, a)
	}
	m.graph = message(m.graph, 1, node)
}

// weights adds a tensor of normally distributed numbers.
func (m *model) weights(name string, deviation float64, shape ...int64) {
	m.floats(name, shape, m.normal(deviation, shape...)...)
}

func (m *model) normal(deviation float64, shape ...int64) []float32 {
	count := int64(1)
	for _, n := range shape {
		count *= n
	}
	values := make([]float32, count)
	for i := range values {
		values[i] = float32(m.random.NormFloat64() * deviation)
	}
	return values
}

func (m *model) floats(name string, shape []int64, values ...float32) {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	m.tensor(name, 1, shape, raw)
}

func (m *model) ints(name string, values []int64) { m.intsOf(name, values...) }

func (m *model) intsOf(name string, values ...int64) {
	m.tensor(name, 7, []int64{int64(len(values))}, rawInts(values))
}

func (m *model) scalars(name string, value int64) { m.tensor(name, 7, nil, rawInts([]int64{value})) }

func rawInts(values []int64) (raw []byte) {
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return raw
}

func (m *model) tensor(name string, element uint64, shape []int64, raw []byte) {
	var t []byte
	for _, n := range shape {
		t = number(t, 1, uint64(n))
	}
	t = number(t, 2, element)
	t = text(t, 8, name)
	t = message(t, 9, raw)
	m.graph = message(m.graph, 5, t)
}

// value declares an input (11) or an output (12) of the graph.
func (m *model) value(field protowire.Number, name string, element uint64, rank int) {
	var shape []byte
	for range rank {
		shape = message(shape, 1, nil)
	}
	tensor := message(number(nil, 1, element), 2, shape)
	m.graph = message(m.graph, field, message(text(nil, 1, name), 2, message(nil, 1, tensor)))
}

func intAttribute(name string, value int64) []byte {
	return number(number(text(nil, 1, name), 3, uint64(value)), 20, 2)
}

func intsAttribute(name string, values ...int64) []byte {
	a := text(nil, 1, name)
	for _, v := range values {
		a = number(a, 8, uint64(v))
	}
	return number(a, 20, 7)
}

func text(to []byte, field protowire.Number, value string) []byte {
	return message(to, field, []byte(value))
}

func message(to []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), value)
}

func number(to []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), value)
}
