// Package neural implements the engine process of neural voices. It answers the jobs of package engineproto with
// samples from models that ONNX Runtime runs. Phonemes come from a child process that runs espeak-ng, which keeps its
// licence and its crashes out of this process. Only cmd/neuralworker imports it.
package neural

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/recital-tts/recital/internal/speech/neural/family"
	"github.com/recital-tts/recital/internal/speech/neural/kokoro"
	"github.com/recital-tts/recital/internal/speech/neural/onnx"
	"github.com/recital-tts/recital/internal/speech/neural/vits"
	"github.com/recital-tts/recital/internal/speech/voicepack"
)

// Config is the configuration of a voice: the fields of Piper's file, and properties of the model's family.
type Config struct {
	Audio struct {
		SampleRate int `json:"sample_rate"`
	} `json:"audio"`
	Inference struct {
		Noise     float64 `json:"noise_scale"`
		PaceNoise float64 `json:"noise_w"`
		Length    float64 `json:"length_scale"`
	} `json:"inference"`
	Speakers int                `json:"num_speakers"`
	IDs      map[string][]int64 `json:"phoneme_id_map"`

	units units
	edges edges
	// respell translates a word from the International Phonetic Alphabet into the alphabet of the ids.
	respell func(language, ipa string) string
	// spell returns the words whose pronunciation follows from the script of a language, and false if the language has no
	// such script. It is nil if the family has none.
	spell func(language string, text []rune) (words []kokoro.Word, ok bool)
}

// The symbols at the beginning and the end of a sentence of ids, between its phonemes, and between its words.
const (
	beginSymbol = "^"
	endSymbol   = "$"
	padSymbol   = "_"
	spaceSymbol = " "
)

// piperConfig reads the configuration of a Piper voice.
func piperConfig(content []byte) (Config, error) {
	c := Config{
		units:   units{words: 40},
		edges:   edges{lead: 2, tail: 2},
		respell: func(_, ipa string) string { return norm.NFD.String(ipa) },
	}
	if err := json.Unmarshal(content, &c); err != nil {
		return Config{}, errors.New("the voice's configuration is not readable")
	}
	if c.Speakers > 1 {
		return Config{}, fmt.Errorf("the voice has %d speakers, and 1 is supported", c.Speakers)
	}
	if c.Audio.SampleRate < 8000 || c.Audio.SampleRate > 48000 {
		return Config{}, fmt.Errorf("a sample rate of %d Hz is not supported", c.Audio.SampleRate)
	}
	if c.Inference.Length == 0 {
		c.Inference.Length = 1
	}
	if !(c.Inference.Length > 0.2 && c.Inference.Length < 5) || !(c.Inference.Noise >= 0 && c.Inference.Noise <= 2) ||
		!(c.Inference.PaceNoise >= 0 && c.Inference.PaceNoise <= 2) {
		return Config{}, errors.New("the voice's noise or length is out of range")
	}
	for _, symbol := range []string{beginSymbol, endSymbol, padSymbol, spaceSymbol} {
		if len(c.IDs[symbol]) != 1 {
			return Config{}, fmt.Errorf("the voice has no symbol %q", symbol)
		}
	}
	return c, nil
}

// id returns the id of a symbol, none if the voice lacks it.
func (c Config) id(symbol string) []int64 { return c.IDs[symbol][:min(1, len(c.IDs[symbol]))] }

// symbols returns the ids of a word, without the symbols that the voice lacks.
func (c Config) symbols(word word) (ids []int64) {
	for _, r := range word.spelling {
		ids = append(ids, c.id(string(r))...)
	}
	return ids
}

// Voice is a loaded voice.
type Voice struct {
	Config Config
	model  family.Model
}

// Voices are voices that share a model. Each has a folder, and all of these are in one folder.
type Voices struct {
	own    string // the folder whose model is loaded
	config Config
	models models
	loaded map[string]*Voice // by name of the folder; each takes half a megabyte
}

// Load loads the voice of a folder, with whose model the folders beside it may have voices.
func Load(folder string) (*Voices, error) {
	v := &Voices{own: folder, loaded: map[string]*Voice{}}
	content, err := voicepack.Read(v.files(Own), voicepack.ConfigFile)
	if err != nil {
		return nil, err
	}
	parts, err := split(v.files(Own))
	if err != nil {
		return nil, err
	}
	if v.config, err = parts.config(content); err != nil {
		return nil, err
	}
	if v.models, err = parts.load(); err != nil {
		return nil, err
	}
	_, err = v.voice(filepath.Base(folder))
	return v, err
}

// Own stands in jobs for the folder whose model was loaded.
const Own = "."

// files returns the files of a folder by its name.
func (v *Voices) files(folder string) fs.FS {
	if folder == Own {
		return os.DirFS(v.own)
	}
	return os.DirFS(filepath.Join(filepath.Dir(v.own), folder))
}

// voice returns the voice of a folder, which is loaded on first use.
func (v *Voices) voice(folder string) (*Voice, error) {
	if voice, found := v.loaded[folder]; found {
		return voice, nil
	}
	files := v.files(folder)
	_, err := fs.Stat(files, voicepack.ModelFile)
	if err != nil || !fs.ValidPath(folder) || strings.Contains(folder, "/") { // ".." and "" are no valid paths
		return nil, errors.New("the voice is unknown")
	}
	model, err := v.models(files)
	if err != nil {
		return nil, err
	}
	voice := &Voice{Config: v.config, model: model}
	v.loaded[folder] = voice
	return voice, nil
}

// models returns the shared model with the voice of a folder.
type models func(folder fs.FS) (family.Model, error)

// parts is a recognised and cut model, with functions that load it and read its configuration.
type parts struct {
	whole  onnx.Part
	load   func() (models, error)
	config func(content []byte) (Config, error)
}

// split recognises the model of a folder and cuts it into parts.
func split(folder fs.FS) (parts, error) {
	file, err := voicepack.Read(folder, voicepack.ModelFile)
	if err != nil {
		return parts{}, err
	}
	g, err := onnx.Parse(file)
	if err != nil {
		return parts{}, err
	}
	if kokoro.Like(g) {
		cut, err := kokoro.Split(g)
		load := func() (models, error) { return loadKokoro(cut) }
		return parts{whole: cut.Whole, load: load, config: kokoroConfig}, err
	}
	cut, err := vits.Split(g)
	load := func() (models, error) {
		model, err := vits.Load(cut)
		return func(fs.FS) (family.Model, error) { return model, nil }, err
	}
	return parts{whole: cut.Whole, load: load, config: piperConfig}, err
}
