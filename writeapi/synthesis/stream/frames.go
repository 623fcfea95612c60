package stream

import (
	"encoding/json"
	"fmt"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/web"
)

// dialect is a form of the protocol. Clients of every published version speak one of the three.
type dialect int

const (
	plain     dialect = iota // 1.0: {"text"}, {"flush"}, {"eof"}; the only text frames are extras and an error
	commanded                // 1.0, protocol_version 2: {"command", "nonce"} and {"complete", "nonce"}
	typed                    // 1.1: every message has a type
)

// maxFrame is the largest binary frame, in bytes. Python's clients refuse more than 1 MiB; small frames play earlier.
const maxFrame = 64 << 10

// frames says what a session has to say in a dialect.
type frames struct {
	conn    *web.Conn
	dialect dialect
	times   bool
}

type extras struct {
	Durations   []speech.Timing `json:"durations,omitempty"`
	BufferEmpty bool            `json:"buffer_empty"`
	Warning     string          `json:"warning,omitempty"`
}

// pairedExtras always have their durations: clients look for that key.
type pairedExtras struct {
	Durations   []speech.Timing `json:"durations"`
	BufferEmpty bool            `json:"buffer_empty"`
	Warning     string          `json:"warning,omitempty"`
}

type complete struct {
	Complete string `json:"complete"`
	Nonce    int64  `json:"nonce"`
}

type typedFrame struct {
	Type       string          `json:"type"`
	RequestID  string          `json:"request_id,omitempty"`
	Timestamps []speech.Timing `json:"timestamps,omitempty"`
	Warning    string          `json:"warning,omitempty"`
	Nonce      *int64          `json:"nonce,omitempty"`
}

type typedError struct {
	Type      string     `json:"type"`
	Error     errorWords `json:"error"`
	RequestID string     `json:"request_id"`
}

type errorWords struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// ready answers a good opening.
func (f *frames) ready() error {
	if f.dialect != typed {
		return nil
	}
	return f.text(typedFrame{Type: "ready", RequestID: f.conn.RequestID})
}

// Audio implements synthesis.Listener. Times count from the start of their chunk, in every dialect.
func (f *frames) Audio(c synthesis.Chunk) error {
	switch {
	case !f.times:
		return f.binary(c.Audio)
	case f.dialect == typed:
		if err := f.binary(c.Audio); err != nil || len(c.Timings) == 0 {
			return err
		}
		return f.text(typedFrame{Type: "timestamps", Timestamps: c.Timings, Warning: warning(c)})
	case f.dialect == commanded:
		if len(c.Timings) > 0 || c.BufferEmpty {
			if err := f.text(extras{c.Timings, c.BufferEmpty, warning(c)}); err != nil {
				return err
			}
		}
		return f.binary(c.Audio)
	}
	if c.Timings == nil {
		c.Timings = []speech.Timing{}
	}
	if err := f.text(pairedExtras{c.Timings, c.BufferEmpty, warning(c)}); err != nil {
		return err
	}
	return f.conn.WriteBinary(c.Audio) // one frame, even an empty one: clients take them in pairs
}

// warning is what a client should know about a chunk. Only frames with times have room for it: clients fail on others.
func warning(c synthesis.Chunk) string {
	if c.Unspeakable {
		return speech.NothingToSay
	}
	return ""
}

// Flushed implements synthesis.Listener.
func (f *frames) Flushed(nonce *int64) error { return f.acknowledge("flush", nonce) }

// Cleared implements synthesis.Listener.
func (f *frames) Cleared(nonce *int64) error { return f.acknowledge("reset", nonce) }

func (f *frames) acknowledge(what string, nonce *int64) error {
	switch {
	case f.dialect == typed:
		zero := int64(0)
		if nonce == nil {
			nonce = &zero
		}
		return f.text(typedFrame{Type: what + "_complete", Nonce: nonce})
	case f.dialect == commanded && nonce != nil:
		return f.text(complete{what, *nonce})
	}
	return nil // the client would not know what to do with it
}

func (f *frames) binary(audio []byte) error {
	for len(audio) > 0 {
		frame := audio[:min(len(audio), maxFrame)]
		if err := f.conn.WriteBinary(frame); err != nil {
			return err
		}
		audio = audio[len(frame):]
	}
	return nil
}

func (f *frames) text(value any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding a frame: %w", err)
	}
	return f.conn.WriteText(encoded)
}

// failure is the last frame of a session that an error ends.
func (f *frames) failure(told web.Explanation) []byte {
	var frame any = map[string]string{"error": told.Message}
	if f.dialect == typed {
		frame = typedError{Type: "error", Error: errorWords{told.Type, told.Message}, RequestID: f.conn.RequestID}
	}
	encoded, err := json.Marshal(frame)
	if err != nil {
		return nil // it consists of strings
	}
	return encoded
}
