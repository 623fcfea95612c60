package engineproto

import (
	"errors"
	"fmt"
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

// ParseChecked returns the report of a frame. A worker that refuses the check sends the reason.
func ParseChecked(frame workers.Frame) (Checked, error) {
	if frame.Kind == KindRefused {
		return Checked{}, fmt.Errorf("the worker refuses: %s", frame.Payload)
	}
	c, err := workers.ParseJSON[Checked](frame, KindCheck)
	if err != nil || !(c.Cost >= 0) {
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
