package neural

import (
	"encoding/json"
	"errors"
	"io/fs"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/speech/neural/family"
	"github.com/recital-tts/recital/internal/speech/neural/kokoro"
	"github.com/recital-tts/recital/internal/speech/voicepack"
)

// loadKokoro loads a model that needs a file of styles beside it.
func loadKokoro(cut kokoro.Parts) (models, error) {
	model, err := kokoro.Load(cut)
	return func(folder fs.FS) (family.Model, error) {
		styles, err := voicepack.Read(folder, voicepack.StylesFile)
		if err != nil {
			return nil, err
		}
		return model.With(styles)
	}, err
}

// kokoroConfig reads the configuration of a Kokoro voice, of which only the vocabulary is used. A sentence begins and
// ends with id 0, and its phonemes have no pads.
func kokoroConfig(content []byte) (Config, error) {
	var file struct {
		Vocabulary map[string]int64 `json:"vocab"`
	}
	if err := json.Unmarshal(content, &file); err != nil || len(file.Vocabulary) == 0 {
		return Config{}, errors.New("the voice's configuration has no vocabulary that can be read")
	}
	c := Config{
		units: kokoroUnits, edges: kokoroEdges, respell: kokoro.Respell, spell: kokoro.Spell,
		IDs: map[string][]int64{},
	}
	c.Audio.SampleRate, c.Inference.Noise, c.Inference.Length = kokoro.Rate, 1, 1
	for symbol, id := range file.Vocabulary {
		if id < 1 || id > kokoro.MaxID || utf8.RuneCountInString(symbol) != 1 {
			return Config{}, errors.New("the voice's vocabulary has an id that is out of range, or a long symbol")
		}
		c.IDs[symbol] = []int64{id}
	}
	if len(c.id(spaceSymbol)) == 0 {
		return Config{}, errors.New("the voice's vocabulary has no space")
	}
	c.IDs[beginSymbol], c.IDs[endSymbol] = []int64{0}, []int64{0}
	delete(c.IDs, padSymbol)
	return c, nil
}

// kokoroUnits limit a run of a Kokoro model. Its memory grows with the length of a run, there is no sample before the
// whole run is computed, and a long silence changes the sound of the whole run.
var kokoroUnits = units{words: 40, symbols: 240, pause: 0.5}

// kokoroEdges are measured with the durations of Kokoro itself. A sound comes two frames before its symbol, and the end
// of the last sound is within its symbol. If the first silence is shorter than the model's own, the first word is lost.
var kokoroEdges = edges{whole: true, shift: 2, before: 2, last: 7}
