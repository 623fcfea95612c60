// Package protocol defines the protocol between recitald and a process that decodes an upload, with frames of package
// workers. recitald sends Open once. The process requests bytes of the upload with Read, and gets one Data for each. It
// sends Format, Audio and finally End or Failed.
package protocol

import "errors"

// The kinds of frames.
const (
	Open   byte = 'O' // to the process: Opening
	Data   byte = 'D' // to the process: the requested bytes, fewer only at the end of the upload
	Read   byte = 'R' // from the process: Place
	Format byte = 'I' // from the process: Track
	Audio  byte = 'A' // from the process: samples, signed 16-bit little-endian
	End    byte = 'E' // from the process: Ended
	Failed byte = 'X' // from the process: one byte, a Failure
)

// MaxRead is the maximum number of bytes in a Data. A request and its reply always fit a pipe's buffer.
const MaxRead = 32 << 10

// MaxAudio is the maximum number of bytes in an Audio.
const MaxAudio = 256 << 10

// minRate and maxRate limit the sample rate of the decoded audio in Hz.
const (
	minRate = 8000
	maxRate = 48000
)

// Opening describes the upload and the limits of decoding.
type Opening struct {
	Container  string `json:"container"` // name from package decode
	Rate       int    `json:"rate"`      // Hz, of the decoded audio
	Size       int64  `json:"size"`      // bytes of the upload
	MaxSamples int64  `json:"max_samples"`
	CPUSeconds int    `json:"cpu_seconds"` // after which the kernel ends the process
}

// Track is the audio track that is decoded.
type Track struct {
	Codec    string `json:"codec"`
	Rate     int    `json:"rate"` // Hz
	Channels int    `json:"channels"`
}

// Ended reports the end of the audio.
type Ended struct {
	Samples int64 `json:"samples"`
	Damaged bool  `json:"damaged,omitempty"`
}

// Failure is the reason why an upload cannot be decoded.
type Failure byte

// The failures.
const (
	NoTrack     Failure = 'n' // no audio track
	OtherCodec  Failure = 'c' // an unsupported codec
	Damaged     Failure = 'd'
	TooLong     Failure = 'l'
	Channels    Failure = 'h' // too many
	SampleRate  Failure = 'r' // out of range
	Memory      Failure = 'm' // too little
	Unconfined  Failure = 'u' // the process could not confine itself
	Unavailable Failure = 'x' // libav is missing, or an unexpected error
)

// Place is a part of the upload.
type Place struct {
	Offset int64 `json:"offset"`
	Length int   `json:"length"`
}

// Check returns an error if the place is out of range.
func (p Place) Check() error {
	if p.Offset < 0 || p.Length < 0 || p.Length > MaxRead {
		return errors.New("the place to read is out of range")
	}
	return nil
}

// Check returns an error if a field is out of range.
func (o Opening) Check() error {
	if o.Rate < minRate || o.Rate > maxRate || o.Size < 0 || o.MaxSamples <= 0 || o.CPUSeconds <= 0 {
		return errors.New("the limits of decoding are out of range")
	}
	return nil
}
