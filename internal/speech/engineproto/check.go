package engineproto

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/process/workers"
)

// Sentences are what a worker is to check its model with.
type Sentences struct {
	Language string   `json:"language"`
	Texts    []string `json:"texts"`
}

// Checked is what a worker has found out about its model.
type Checked struct {
	Missing map[string]int `json:"missing"` // how often a symbol of the phonemes occurred that the model does not know
	// How far its samples are from those of the model as it was before it was cut, in decibels of the latter.
	Difference float64 `json:"difference"`
	Cost       float64 `json:"cost"` // seconds of a processor for a second of speech
	// Ratio is how much of a processor its parts take for a sentence, for one that the whole model takes; 0 if unknown.
	Ratio float64 `json:"ratio,omitempty"`
}

// maxMissing bounds the missing symbols.
const maxMissing = 200

// CheckFrame returns the frame that carries sentences or what was found.
func CheckFrame[T Sentences | Checked](content T) (workers.Frame, error) {
	payload, err := json.Marshal(content)
	if err != nil {
		return workers.Frame{}, fmt.Errorf("encoding a check: %w", err)
	}
	return workers.Frame{Kind: KindCheck, Payload: payload}, nil
}

// ParseSentences returns the sentences of a frame.
func ParseSentences(frame workers.Frame) (Sentences, error) {
	var s Sentences
	if frame.Kind != KindCheck || json.Unmarshal(frame.Payload, &s) != nil {
		return Sentences{}, errors.New("the frame has no sentences")
	}
	return s, nil
}

// ParseChecked returns what a worker has found out. A worker that refuses sends the reason.
func ParseChecked(frame workers.Frame) (Checked, error) {
	if frame.Kind == KindRefused {
		return Checked{}, fmt.Errorf("the worker refuses: %s", frame.Payload)
	}
	var c Checked
	if frame.Kind != KindCheck || json.Unmarshal(frame.Payload, &c) != nil || math.IsNaN(c.Difference) || !(c.Cost >= 0) {
		return Checked{}, errors.New("the worker's answer to a check is not readable")
	}
	if len(c.Missing) > maxMissing {
		return Checked{}, errors.New("the worker misses too many symbols")
	}
	for symbol := range c.Missing {
		if utf8.RuneCountInString(symbol) != 1 {
			return Checked{}, errors.New("the worker misses what is no symbol")
		}
	}
	return c, nil
}
