package neuraltest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// The sizes of the toy Kokoro.
const (
	vocabulary = 178
	harmonics  = 9
	styleSize  = 256
	ownHop     = 600
)

// Kokoro returns a model of some kilobytes with the cut points of Kokoro-82M, with or without noise of its own.
func Kokoro(noise bool) []byte {
	m := &model{random: rand.New(rand.NewPCG(3, 4))}
	m.floats("one.float", nil, 1)
	m.floats("zero.float", nil, 0)
	m.floats("level", nil, 0.1)
	m.scalars("middle", 1)
	m.ints("one", []int64{1})
	m.weights("prosody", 1, vocabulary, channels)
	m.weights("text", 1, vocabulary, channels)
	lengths := m.normal(0.4, vocabulary, channels)
	copy(lengths, []float32{2, 2, 2, 2}) // long silence at both ends
	m.floats("length", []int64{vocabulary, channels}, lengths...)
	m.weights("pitch.weight", 0.3, channels, 1, ownHop)
	m.weights("text.weight", 0.3, channels, 1, ownHop)
	m.weights("style.weight", 0.1, styleSize, 1)
	m.weights("harmonics.rate", 0.2, harmonics)
	m.weights("harmonics.weight", 0.3, harmonics, 1)
	m.weights("phases.like", 1, 1, harmonics)
	m.kokoroEncoder()
	m.kokoroAlignment()
	m.kokoroSource(noise)
	m.kokoroDecoder()
	m.value(11, "tokens", 7, 2)
	m.value(11, "style", 1, 2)
	m.value(11, "speed", 1, 1)
	m.value(12, "audio", 1, 1)
	return m.file()
}

func (m *model) kokoroEncoder() {
	for _, table := range []string{"prosody", "text"} {
		m.node("Gather", []string{table, "tokens"}, []string{table + ".rows"})
		m.node("Transpose", []string{table + ".rows"}, []string{table + ".channels"}, intsAttribute("perm", 0, 2, 1))
	}
	m.node("Gather", []string{"length", "tokens"}, []string{"length.rows"})
	m.node("Exp", []string{"length.rows"}, []string{"length.exp"})
	m.node("ReduceMean", []string{"length.exp"}, []string{"length.mean"}, intsAttribute("axes", 2),
		intAttribute("keepdims", 0))
	m.node("Add", []string{"length.mean", "length.mean"}, []string{"durations"})
	m.node("Div", []string{"durations", "speed"}, []string{"durations.fast"})
	m.node("Round", []string{"durations.fast"}, []string{"durations.whole"})
	m.node("Clip", []string{"durations.whole", "one.float"}, []string{"frames"})
}

// kokoroAlignment repeats each symbol for its frames. A frame belongs to the symbol that has started and not ended.
func (m *model) kokoroAlignment() {
	m.node("ReduceSum", []string{"frames"}, []string{"count"}, intAttribute("keepdims", 0))
	m.node("Range", []string{"zero.float", "count", "one.float"}, []string{"range"})
	m.node("Unsqueeze", []string{"range", "one"}, []string{"range.column"})
	m.node("CumSum", []string{"frames", "middle"}, []string{"ends"})
	m.node("Sub", []string{"ends", "frames"}, []string{"starts"})
	for _, name := range []string{"ends", "starts"} {
		m.node("Less", []string{"range.column", name}, []string{name + ".before"})
		m.node("Cast", []string{name + ".before"}, []string{name + ".mask"}, intAttribute("to", 1))
	}
	m.node("Sub", []string{"ends.mask", "starts.mask"}, []string{"alignment.frames"})
	m.node("Transpose", []string{"alignment.frames"}, []string{"alignment"}, intsAttribute("perm", 1, 0))
	for _, table := range []string{"prosody", "text"} {
		m.node("MatMul", []string{table + ".channels", "alignment"}, []string{table + ".frames"})
	}
}

func (m *model) kokoroSource(noise bool) {
	m.node("ConvTranspose", []string{"prosody.frames", "pitch.weight"}, []string{"pitch"},
		intsAttribute("strides", ownHop))
	m.node("Transpose", []string{"pitch"}, []string{"pitch.rows"}, intsAttribute("perm", 0, 2, 1))
	m.node("Mul", []string{"pitch.rows", "harmonics.rate"}, []string{"rates"})
	rates := "rates"
	if noise {
		m.node("RandomUniformLike", []string{"phases.like"}, []string{"phases"})
		m.node("Add", []string{"rates", "phases"}, []string{"rates.moved"})
		rates = "rates.moved"
	}
	m.node("Sin", []string{rates}, []string{"sines"})
	m.node("Mul", []string{"sines", "level"}, []string{"sines.quiet"})
	m.node("Greater", []string{"pitch.rows", "zero.float"}, []string{"is.voiced"})
	m.node("Cast", []string{"is.voiced"}, []string{"voiced"}, intAttribute("to", 1))
	m.node("Mul", []string{"sines.quiet", "voiced"}, []string{"harmonics"})
	excited := "harmonics"
	if noise {
		m.node("RandomNormalLike", []string{"harmonics"}, []string{"noise"})
		m.node("Mul", []string{"noise", "level"}, []string{"noise.quiet"})
		m.node("Add", []string{"harmonics", "noise.quiet"}, []string{"excited"})
		excited = "excited"
	}
	m.node("MatMul", []string{excited, "harmonics.weight"}, []string{"source.rows"})
	m.node("Transpose", []string{"source.rows"}, []string{"source"}, intsAttribute("perm", 0, 2, 1))
}

func (m *model) kokoroDecoder() {
	m.node("ConvTranspose", []string{"text.frames", "text.weight"}, []string{"words"}, intsAttribute("strides", ownHop))
	m.node("MatMul", []string{"style", "style.weight"}, []string{"colour"})
	m.node("Add", []string{"words", "source"}, []string{"sound"})
	m.node("Add", []string{"sound", "colour"}, []string{"sound.coloured"})
	m.node("Tanh", []string{"sound.coloured"}, []string{"sound.bent"})
	m.ints("flat", []int64{-1})
	m.node("Reshape", []string{"sound.bent", "flat"}, []string{"audio"})
}

// KokoroConfig returns the configuration file of the toy, in the format of Kokoro's.
func KokoroConfig() []byte {
	ids := map[string]int64{}
	for i, symbol := range []rune(" ,.;:!?ˈˌAIOWYTʤʧᵊᵻabdfhijklmnpstuvwzæðŋɑɔəɛɜɡɪɹɾʃʊʌʒθ") {
		ids[string(symbol)] = int64(i + 1)
	}
	content, _ := json.Marshal(map[string]any{"vocab": ids})
	return content
}

// Styles returns the styles of a voice. Each seed gives other styles.
func Styles(seed uint64) (file []byte) {
	random := rand.New(rand.NewPCG(seed, 5))
	for range 510 * styleSize {
		file = binary.LittleEndian.AppendUint32(file, math.Float32bits(float32(random.NormFloat64())))
	}
	return file
}

// KokoroFolder returns the folder of a package with a voice of Kokoro's family and this id.
func KokoroFolder(t testing.TB, id string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string][]byte{
		"voice.onnx": Kokoro(true), "voice.onnx.json": KokoroConfig(), "voice.styles.bin": Styles(1),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	Describe(t, folder, id, "Toy")
	return folder
}
