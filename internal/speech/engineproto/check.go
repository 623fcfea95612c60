package engineproto

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/process/workers"
)

// Sentences asks a worker to check its model with texts.
type Sentences struct {
	Language string   `json:"language"`
	Texts    []string `json:"texts"`
}

// Checked is a worker's report on its model.
type Checked struct {
	Missing map[string]int `json:"missing"` // occurrences of each phoneme symbol that the model lacks
	// The difference of its samples from the uncut model's, in decibels relative to these.
	Difference float64 `json:"difference"`
	Cost       float64 `json:"cost"` // seconds of processor time per second of speech
	// Ratio is the processor time of its parts for a sentence, relative to the whole model's; 0 if unknown.
	Ratio float64 `json:"ratio,omitempty"`
}

// maxMissing bounds the missing symbols.
const maxMissing = 200

// CheckFrame returns a frame with sentences or a report.
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

// ParseChecked returns the report of a frame. A worker that refuses the check sends the reason.
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
			return Checked{}, errors.New("the worker misses a symbol that is not one character")
		}
	}
	return c, nil
}
