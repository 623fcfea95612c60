package stream

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech"
)

// dialect is a form of the protocol. Clients of every published version use one of the four.
type dialect int

const (
	plain     dialect = iota // 1.0: {"text"}, {"flush"}, {"eof"}; the only text frames are extras and an error
	commanded                // 1.0, protocol_version 2: {"command", "nonce"} and {"complete", "nonce"}
	typed                    // 1.1: every message has a type
	adding                   // 1.2: typed, and the times of words add up until a flush or a reset is done
)

// hasTypes reports whether every message has a type.
func (d dialect) hasTypes() bool { return d >= typed }

// maxFrame is the largest binary frame, in bytes. Python's clients refuse more than 1 MiB; small frames play earlier.
const maxFrame = 64 << 10

// frames writes the messages of a session in a dialect.
type frames struct {
	conn    *web.Conn
	dialect dialect
	times   bool
	passed  float64 // seconds of audio since the session's start, or since the last flush or reset was done
}

type extras struct {
	Durations   []speech.Timing `json:"durations,omitempty" doc:"The word times, counted from the start of the following audio."`
	BufferEmpty bool            `json:"buffer_empty" doc:"Whether this audio completes the text so far."`
	Warning     string          `json:"warning,omitempty" doc:"The text that could not be spoken."`
}

// pairedExtras always have durations: clients expect that key.
type pairedExtras struct {
	Durations   []speech.Timing `json:"durations" doc:"The word times, counted from the start of the following audio."`
	BufferEmpty bool            `json:"buffer_empty" doc:"Whether this audio completes the text so far."`
	Warning     string          `json:"warning,omitempty" doc:"The text that could not be spoken."`
}

type complete struct {
	Complete string `json:"complete" literal:"flush,reset" doc:"The completed action."`
	Nonce    int64  `json:"nonce" doc:"The number that came with the command."`
}

type ready struct {
	Type      string `json:"type" literal:"ready" doc:"Always ready."`
	RequestID string `json:"request_id" doc:"The id of the session, for support."`
}

type timestamps struct {
	Type       string          `json:"type" literal:"timestamps" doc:"Always timestamps."`
	Timestamps []speech.Timing `json:"timestamps" doc:"The word times, counted from the start of the previous audio; from version 1.2 on, from the start of the session or the last flush or reset."`
	Warning    string          `json:"warning,omitempty" doc:"The text that could not be spoken."`
}

type acknowledged struct {
	Type  string `json:"type" literal:"flush_complete,reset_complete" doc:"The completed action."`
	Nonce int64  `json:"nonce" doc:"The number that came with the message, or 0."`
}

type typedError struct {
	Type      string     `json:"type" literal:"error" doc:"Always error."`
	Error     errorWords `json:"error" doc:"The error."`
	RequestID string     `json:"request_id" doc:"The id of the session, for support."`
}

type errorWords struct {
	Type    string `json:"type" doc:"The kind of error, such as authentication_error."`
	Message string `json:"message" doc:"The error, for people."`
}

type plainError struct {
	Error string `json:"error" doc:"The error, for people."`
}

// ready acknowledges a valid opening.
func (f *frames) ready() error {
	if !f.dialect.hasTypes() {
		return nil
	}
	return f.text(ready{Type: "ready", RequestID: f.conn.RequestID})
}

// Audio implements synthesis.Listener. Times count from the start of their chunk, unless they add up.
func (f *frames) Audio(c synthesis.Chunk) error {
	switch {
	case !f.times:
		return f.binary(c.Audio)
	case f.dialect.hasTypes():
		if err := f.binary(c.Audio); err != nil || len(c.Timings) == 0 {
			return err
		}
		return f.text(timestamps{Type: "timestamps", Timestamps: f.counted(c.Timings), Warning: warning(c)})
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
	return f.conn.WriteBinary(c.Audio) // one frame, even an empty one: clients expect pairs
}

// counted returns a chunk's timings as the dialect counts them.
func (f *frames) counted(timings []speech.Timing) []speech.Timing {
	if f.dialect != adding {
		return timings
	}
	counted := slices.Clone(timings)
	for i := range counted {
		counted[i].Start += f.passed
	}
	last := counted[len(counted)-1]
	f.passed = last.Start + last.Duration // timings have no gaps, and end with their chunk
	return counted
}

// warning returns a warning about a chunk. Only frames with times have a field for it: clients fail on others.
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
	f.passed = 0
	switch {
	case f.dialect.hasTypes():
		if nonce == nil {
			nonce = new(int64)
		}
		return f.text(acknowledged{Type: what + "_complete", Nonce: *nonce})
	case f.dialect == commanded && nonce != nil:
		return f.text(complete{what, *nonce})
	}
	return nil // the client could not handle it
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

// failure returns the last frame of a session that an error ends.
func (f *frames) failure(told web.Explanation) []byte {
	var frame any = plainError{told.Message}
	if f.dialect.hasTypes() {
		frame = typedError{Type: "error", Error: errorWords{told.Type, told.Message}, RequestID: f.conn.RequestID}
	}
	encoded, err := json.Marshal(frame)
	if err != nil {
		return nil // cannot happen: it consists of strings
	}
	return encoded
}
