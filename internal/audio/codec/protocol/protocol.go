// Package protocol is the protocol between recitald and its codec processes: frames of internal/workers, with one
// stream id per encoder. Every request gets exactly one reply, and a stream has one request in flight, so that memory
// is bounded on both sides and a slow stream does not block the others. Only a Close may overtake the reply to the
// request before it.
package protocol

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/recital-tts/recital/internal/audio"
)

// The requests.
const (
	Open   byte = 'O' // payload: Opening
	Encode byte = 'E' // payload: whole samples, signed 16-bit little-endian, at most MaxEncode bytes
	Finish byte = 'F' // no payload; the reply holds the last bytes
	Close  byte = 'C' // no payload; valid in every state, and required once after every Open
)

// The replies.
const (
	Encoded byte = 'A' // to Open, Encode and Finish; payload: encoded bytes, which may be none
	Failed  byte = 'X' // to Open, Encode and Finish; payload: the reason as text; only Close may follow
	Closed  byte = 'Z' // to Close
)

// MaxEncode is the largest payload of an Encode in bytes: 1.5 s at 22,050 Hz, so that no stream occupies a processor
// for long, and that its reply fits a frame when the rate triples.
const MaxEncode = 64 << 10

// MaxStreams is the number of streams that a codec process serves at once.
const MaxStreams = 256

// The input rates that are accepted, in Hz.
const (
	minInputRate = 8000
	maxInputRate = 48000
)

// Opening describes the encoding of a stream.
type Opening struct {
	Format     audio.Format `json:"format"`      // MP3, AAC, WebM, or PCMS16LE to change the rate only
	SampleRate int          `json:"sample_rate"` // Hz, of the output
	InputRate  int          `json:"input_rate"`  // Hz, 8000 to 48000
}

// Check returns audio.ErrUnsupported (wrapped) if codec processes do not support the encoding.
func (o Opening) Check() error {
	formats := []audio.Format{audio.MP3, audio.AAC, audio.WebM, audio.PCMS16LE}
	if !slices.Contains(formats, o.Format) || !slices.Contains(audio.SampleRates(), o.SampleRate) {
		return fmt.Errorf("%q at %d Hz: %w", o.Format, o.SampleRate, audio.ErrUnsupported)
	}
	if o.InputRate < minInputRate || o.InputRate > maxInputRate {
		return fmt.Errorf("input at %d Hz: %w", o.InputRate, audio.ErrUnsupported)
	}
	return nil
}

// Payload returns the encoded Opening.
func (o Opening) Payload() ([]byte, error) {
	payload, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("packing a codec opening: %w", err)
	}
	return payload, nil
}

// ParseOpening parses and checks an Opening.
func ParseOpening(payload []byte) (Opening, error) {
	var o Opening
	if err := json.Unmarshal(payload, &o); err != nil {
		return Opening{}, fmt.Errorf("reading a codec opening: %w", err)
	}
	return o, o.Check()
}
