package voicepack

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/recital-tts/recital/domain"
)

// Voice is an installed voice that is to run.
type Voice struct {
	ID        string
	Languages []string // engine languages
	Package   string   // the SHA-256 of its package
	Folder    string   // of its files
	Cost      float64  // seconds of a processor for a second of speech
}

// Memory estimates what each process of the voice takes, in bytes: the model is in memory once, and what the library
// prepares from it and computes with takes less than that again. A model with styles computes whole sentences, of which
// the longest take more.
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

// Model returns the SHA-256 of the voice's model and of what describes it, in hex, as its manifest has them: they were
// compared when the package was unpacked. Voices that have the same one differ in their styles, and share processes.
func (v Voice) Model() (string, error) {
	m, err := manifest(os.DirFS(v.Folder))
	return m.Files[ModelFile] + m.Files[ConfigFile], err
}

// sentenceMemory is what a model computes a whole sentence with, in bytes.
const sentenceMemory = 256 << 20

// Measured is what was found out about a voice.
type Measured struct {
	Gain float64 // dB, to the loudness of all voices
	Cost float64 // seconds of a processor for a second of speech
	// How often its phonemes had a symbol that it does not know, and says nothing for.
	Missing map[string]int
	Sound   []byte // what clones of it are made by: acoustics.Statistics in JSON
}

// ErrNoRuntime means that an instance runs no installed voices.
var ErrNoRuntime = domain.Refuse(domain.Rejected,
	"This instance has no ONNX Runtime: set RECITAL_ONNXRUNTIME to its library, libonnxruntime.so")

// Share is the part of the processors that the streams of voices may take; the rest is for everything else.
const Share = 0.7

// Streams returns how many streams of a voice so many processors carry at the same time.
func Streams(cost float64, processors int) int {
	return max(1, int(math.Floor(Share*float64(processors)/max(cost, 0.001))))
}
