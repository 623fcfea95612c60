// Package protocol defines the protocol between recitald and its codec processes. It uses the frames of
// internal/process/workers, with a stream id per encoder. Every request gets one reply, and a stream has one request in
// flight, so that memory is limited on both sides and a slow stream does not block others. Only a Close may be sent
// before the reply to the previous request.
package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/recital-tts/recital/internal/speech/audio"
)

// The requests.
const (
	Open   byte = 'O' // payload: Opening in JSON
	Encode byte = 'E' // payload: whole samples, signed 16-bit little-endian, at most MaxEncode bytes
	Finish byte = 'F' // no payload; the reply has the last bytes
	Rest   byte = 'R' // no payload; another stream may continue this one, which must end with silence
	Close  byte = 'C' // no payload; valid in every state; must follow every Open once
)

// The replies.
const (
	Encoded byte = 'A' // to Open, Encode and Finish; payload: encoded bytes, possibly none
	Rested  byte = 'P' // to Rest; payload: RestedPayload
	Failed  byte = 'X' // to Open, Encode, Finish and Rest; payload: the reason as text; then only Close may follow
	Closed  byte = 'Z' // to Close
)

// MaxEncode is the maximum payload of Encode in bytes: 1.5 s at 22,050 Hz. It limits the time that a stream occupies a
// processor, and its reply fits a frame even if the rate triples.
const MaxEncode = 64 << 10

// MaxStreams is the maximum number of concurrent streams of a codec process.
const MaxStreams = 256

// The accepted input rates in Hz.
const (
	minInputRate = 8000
	maxInputRate = 48000
)

// Opening describes the encoding of a stream.
type Opening struct {
	Format     audio.Format `json:"format"`      // one of Codecs, or PCMS16LE to change only the rate
	SampleRate int          `json:"sample_rate"` // of the output in Hz
	InputRate  int          `json:"input_rate"`  // in Hz, 8000 to 48000
	Continues  *Continued   `json:"continues,omitempty"`
}

// Continued is the point where a stream continues another one, without repeating the file header. Both fields are in
// samples of the output.
type Continued struct {
	At      int64 `json:"at"`      // position of the stream's first sample
	Silence int64 `json:"silence"` // silence that the stream starts with, because the other stream has not returned it
}

// maxSilence limits Continued.Silence. The look-ahead of every codec is shorter.
const maxSilence = 1 << 14

// Codecs returns the formats that a codec process encodes, except PCM.
func Codecs() []audio.Format {
	return []audio.Format{audio.MP3, audio.AAC, audio.WebM, audio.OggOpus, audio.FLAC}
}

// Check returns an error if codec processes do not support the encoding, for most fields audio.ErrUnsupported
// (wrapped).
func (o Opening) Check() error {
	formats := append(Codecs(), audio.PCMS16LE)
	if !slices.Contains(formats, o.Format) || !slices.Contains(audio.SampleRates(), o.SampleRate) {
		return fmt.Errorf("%q at %d Hz: %w", o.Format, o.SampleRate, audio.ErrUnsupported)
	}
	if o.InputRate < minInputRate || o.InputRate > maxInputRate {
		return fmt.Errorf("input at %d Hz: %w", o.InputRate, audio.ErrUnsupported)
	}
	if o.Continues != nil && (o.Format == audio.OggOpus || o.Format == audio.FLAC) {
		return fmt.Errorf("continuing %s: %w", o.Format, audio.ErrUnsupported)
	}
	if c := o.Continues; c != nil && (c.At < 0 || c.Silence < 0 || c.Silence > maxSilence) {
		return errors.New("a stream cannot continue there")
	}
	return nil
}

// restedHeader is the number of bytes before the encoded bytes in the payload of Rested.
const restedHeader = 16

// RestedPayload returns the payload of Rested: the point where another stream may continue, and the last encoded bytes.
func RestedPayload(c Continued, encoded []byte) []byte {
	payload := binary.LittleEndian.AppendUint64(make([]byte, 0, restedHeader+len(encoded)), uint64(c.At))
	return append(binary.LittleEndian.AppendUint64(payload, uint64(c.Silence)), encoded...)
}

// ParseRested parses a payload of RestedPayload.
func ParseRested(payload []byte) (Continued, []byte, error) {
	if len(payload) < restedHeader {
		return Continued{}, nil, errors.New("the end of a codec stream is not readable")
	}
	at, silence := binary.LittleEndian.Uint64(payload), binary.LittleEndian.Uint64(payload[8:])
	return Continued{At: int64(at), Silence: int64(silence)}, payload[restedHeader:], nil
}
