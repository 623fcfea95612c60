// Package protocol is the protocol between recitald and a process that decodes one upload, over frames of package
// workers. recitald sends Open once. The process then asks for bytes of the upload with Read, each of which gets one
// Data, and sends Format, Audio and, last, End or Failed.
package protocol

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// The kinds of frames.
const (
	Open   byte = 'O' // to the process: Opening
	Data   byte = 'D' // to the process: what was read; less than what was asked for only at the end of the upload
	Read   byte = 'R' // from the process: Place
	Format byte = 'I' // from the process: Track
	Audio  byte = 'A' // from the process: samples, signed 16-bit little-endian
	End    byte = 'E' // from the process: Ended
	Failed byte = 'X' // from the process: one byte, a Failure
)

// MaxRead bounds the bytes of a Data. A request and its reply always fit into a pipe's buffer.
const MaxRead = 32 << 10

// MaxAudio bounds the bytes of an Audio.
const MaxAudio = 256 << 10

// maxRate bounds the sample rate of the decoded audio in Hz.
const (
	minRate = 8000
	maxRate = 48000
)

// Opening says what to decode.
type Opening struct {
	Container  string `json:"container"` // of package decode
	Rate       int    `json:"rate"`      // Hz, of the decoded audio
	Size       int64  `json:"size"`      // bytes of the upload
	MaxSamples int64  `json:"max_samples"`
	CPUSeconds int    `json:"cpu_seconds"` // after which the kernel ends the process
}

// Track is the track of sound that was found.
type Track struct {
	Codec    string `json:"codec"`
	Rate     int    `json:"rate"` // Hz
	Channels int    `json:"channels"`
}

// Ended is the end of the audio.
type Ended struct {
	Samples int64 `json:"samples"`
	Damaged bool  `json:"damaged,omitempty"`
}

// Failure is the reason why an upload cannot be decoded.
type Failure byte

// The failures.
const (
	NoTrack     Failure = 'n' // of sound
	OtherCodec  Failure = 'c' // a codec that is not supported
	Damaged     Failure = 'd'
	TooLong     Failure = 'l'
	Channels    Failure = 'h' // too many
	SampleRate  Failure = 'r' // out of range
	Memory      Failure = 'm' // too little
	Unconfined  Failure = 'u' // the process could not give up what it must not have
	Unavailable Failure = 'x' // libav is missing, or something unexpected
)

// Place is a part of the upload.
type Place struct {
	Offset int64
	Length int
}

const placeSize = 12

// Payload returns the payload of Read.
func (p Place) Payload() []byte {
	payload := binary.LittleEndian.AppendUint64(make([]byte, 0, placeSize), uint64(p.Offset))
	return binary.LittleEndian.AppendUint32(payload, uint32(p.Length))
}

// ParsePlace parses the payload of Read.
func ParsePlace(payload []byte) (Place, error) {
	if len(payload) != placeSize {
		return Place{}, errors.New("the place to read is malformed")
	}
	p := Place{Offset: int64(binary.LittleEndian.Uint64(payload)), Length: int(binary.LittleEndian.Uint32(payload[8:]))}
	if p.Offset < 0 || p.Length < 0 || p.Length > MaxRead {
		return Place{}, errors.New("the place to read is out of range")
	}
	return p, nil
}

// Check reports what is wrong with an Opening.
func (o Opening) Check() error {
	if o.Rate < minRate || o.Rate > maxRate || o.Size < 0 || o.MaxSamples <= 0 || o.CPUSeconds <= 0 {
		return errors.New("the limits of decoding are out of range")
	}
	return nil
}

// Message is a payload in JSON.
type Message interface{ Opening | Track | Ended }

// Payload returns the payload of a message.
func Payload[M Message](message M) ([]byte, error) {
	payload, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("packing a message of decoding: %w", err)
	}
	return payload, nil
}

// Parse parses the payload of a message.
func Parse[M Message](payload []byte) (message M, err error) {
	if err := json.Unmarshal(payload, &message); err != nil {
		return message, errors.New("a message of decoding is not readable")
	}
	return message, nil
}
