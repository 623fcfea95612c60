// Package neural is the engine process of neural voices: it turns jobs of package engineproto into samples with models
// that ONNX Runtime runs. Phonemes come from a child process that runs espeak-ng, so that its licence and its crashes
// stay outside. Only cmd/neuralworker imports it.
package neural

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/recital-tts/recital/internal/speech/neural/family"
	"github.com/recital-tts/recital/internal/speech/neural/kokoro"
	"github.com/recital-tts/recital/internal/speech/neural/onnx"
	"github.com/recital-tts/recital/internal/speech/neural/vits"
	"github.com/recital-tts/recital/internal/speech/voicepack"
)

// Config is what Piper's file beside a model says of it.
type Config struct {
	Audio struct {
		SampleRate int `json:"sample_rate"`
	} `json:"audio"`
	Inference struct {
		Noise     float64 `json:"noise_scale"`
		PaceNoise float64 `json:"noise_w"`
		Length    float64 `json:"length_scale"`
	} `json:"inference"`
	Espeak struct {
		Voice string `json:"voice"`
	} `json:"espeak"`
	Speakers int                `json:"num_speakers"`
	IDs      map[string][]int64 `json:"phoneme_id_map"`

	units units
	edges edges
	// respell turns a word of a language into the alphabet of the ids.
	respell func(language, ipa string) string
	// spell returns the words of a text that the script of a language leads to; nil if there is no such language.
	spell func(language string, text []rune) (words []kokoro.Word, ok bool)
}

// The symbols that a sentence of ids begins with, ends with, and has between its phonemes.
const (
	beginSymbol = "^"
	endSymbol   = "$"
	padSymbol   = "_"
	spaceSymbol = " "
)

// piperConfig reads the configuration of a voice of Piper's.
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

// id returns the id of a symbol.
func (c Config) id(symbol string) (id int64, found bool) {
	ids := c.IDs[symbol]
	if len(ids) == 0 {
		return 0, false
	}
	return ids[0], true
}

// symbols returns the ids of a word, and the symbols that the voice lacks.
func (c Config) symbols(word word) (ids []int64, missing []rune) {
	for _, r := range word.spelling {
		if id, found := c.id(string(r)); found {
			ids = append(ids, id)
			continue
		}
		missing = append(missing, r)
	}
	return ids, missing
}

// Voice is a voice that is loaded.
type Voice struct {
	Config Config
	model  family.Model
}

// Voices are voices with the same model, of which each is a folder of a package.
type Voices struct {
	packages fs.FS // the folders
	own      string
	config   Config
	models   models
	loaded   map[string]*Voice // by their folders
}

// Load loads the model of a folder, with which those beside it may speak, too.
func Load(packages fs.FS, own string) (*Voices, error) {
	folder, err := fs.Sub(packages, own)
	if err != nil {
		return nil, fmt.Errorf("looking at a voice: %w", err)
	}
	content, err := voicepack.Read(folder, voicepack.ConfigFile)
	if err != nil {
		return nil, err
	}
	parts, err := split(folder)
	if err != nil {
		return nil, err
	}
	config, err := parts.config(content)
	if err != nil {
		return nil, err
	}
	models, err := parts.load()
	if err != nil {
		return nil, err
	}
	return &Voices{packages: packages, own: own, config: config, models: models, loaded: map[string]*Voice{}}, nil
}

// mostLoaded bounds the voices that are kept, of which each takes half a megabyte.
const mostLoaded = 64

// Own is the folder, in jobs, of which the model was loaded.
const Own = "."

// voice returns the voice of a folder.
func (v *Voices) voice(folder string) (*Voice, error) {
	if folder == Own {
		folder = v.own
	}
	if voice, found := v.loaded[folder]; found {
		return voice, nil
	}
	errUnknown := errors.New("the voice is another one")
	if strings.Contains(folder, "/") || !fs.ValidPath(folder) { // also refuses ".." and ""
		return nil, errUnknown
	}
	files, err := fs.Sub(v.packages, folder)
	if err != nil {
		return nil, errUnknown
	}
	if _, err := fs.Stat(files, voicepack.ModelFile); err != nil {
		return nil, errUnknown
	}
	model, err := v.models(files)
	if err != nil {
		return nil, err
	}
	if len(v.loaded) == mostLoaded {
		clear(v.loaded)
	}
	voice := &Voice{Config: v.config, model: model}
	v.loaded[folder] = voice
	return voice, nil
}

// models returns the model as it speaks for the voice of a folder.
type models func(folder fs.FS) (family.Model, error)

// parts is a model that was recognised and cut, and how to go on with it.
type parts struct {
	whole  onnx.Part
	load   func() (models, error)
	config func(content []byte) (Config, error)
}

// split recognises the model of a folder and cuts it.
func split(folder fs.FS) (parts, error) {
	file, err := voicepack.Read(folder, voicepack.ModelFile)
	if err != nil {
		return parts{}, err
	}
	if kokoro.Like(file) {
		return splitKokoro(folder, file)
	}
	cut, err := vits.Split(file)
	if err != nil {
		return parts{}, err
	}
	load := func() (models, error) {
		model, err := vits.Load(cut)
		return func(fs.FS) (family.Model, error) { return model, nil }, err
	}
	return parts{whole: cut.Whole, load: load, config: piperConfig}, nil
}

// Memory returns the most memory that the voice of a folder may take, in bytes: while it is loaded, its model is there
// several times. One with styles computes whole sentences.
func Memory(folder fs.FS) (uint64, error) {
	model, err := fs.Stat(folder, voicepack.ModelFile)
	if err != nil {
		return 0, fmt.Errorf("looking at a voice: %w", err)
	}
	if _, err := fs.Stat(folder, voicepack.StylesFile); err == nil {
		return 2<<30 + 8*uint64(model.Size()), nil
	}
	return 512<<20 + 8*uint64(model.Size()), nil
}
