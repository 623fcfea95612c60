package voicepack

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/recital-tts/recital/domain"
)

// Voice is an installed voice to run.
type Voice struct {
	ID        string
	Languages []string // engine languages
	Package   string   // the SHA-256 of its package
	Folder    string   // of its files
	Cost      float64  // seconds of processor time per second of speech
}

// Memory estimates the memory of each process of the voice in bytes: the model, and less than its size again for the
// library's data. A model with styles computes whole sentences, and needs more for the longest ones.
func (v Voice) Memory() (int64, error) {
	model, err := os.Stat(filepath.Join(v.Folder, ModelFile))
	if err != nil {
		return 0, fmt.Errorf("looking at a voice's model: %w", err)
	}
	memory := 2*model.Size() + 80<<20
	if _, err := os.Stat(filepath.Join(v.Folder, StylesFile)); err == nil {
		memory += sentenceMemory
	}
	return memory, nil
}

// Model returns the hashes of the voice's model and configuration in hex, from its manifest, which was verified when
// the package was unpacked. Voices with the same model differ in their styles, and share processes.
func (v Voice) Model() (string, error) {
	m, err := manifest(os.DirFS(v.Folder))
	return m.Files[ModelFile] + m.Files[ConfigFile], err
}

// sentenceMemory is the memory for computing a whole sentence, in bytes.
const sentenceMemory = 256 << 20

// Measured holds the measurements of a voice.
type Measured struct {
	Gain float64 // dB, brings it to the loudness of all voices
	Cost float64 // seconds of processor time per second of speech
	// The occurrences of each symbol in its phonemes that it lacks, and does not speak.
	Missing map[string]int
	Sound   []byte // the basis of its clones: acoustics.Statistics in JSON
}

// ErrNoRuntime means that an instance cannot run installed voices.
var ErrNoRuntime = domain.Refuse(domain.Rejected,
	"This instance has no ONNX Runtime: set RECITAL_ONNXRUNTIME to its library, libonnxruntime.so")

// Share is the share of the processors for the streams of installed voices. The rest is for everything else.
const Share = 0.7

// Streams returns the number of concurrent streams of a voice with this cost that a number of processors supports.
func Streams(cost float64, processors int) int {
	return max(1, int(math.Floor(Share*float64(processors)/max(cost, 0.001))))
}
