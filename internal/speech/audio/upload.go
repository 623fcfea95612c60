package audio

import (
	"context"
	"io"
	"time"
)

// Upload is a client's file: a bytes.Reader, an io.SectionReader or a file of package spool. It needs random access,
// because the index of some files is at their end.
type Upload interface {
	io.ReaderAt
	Size() int64
}

// Decoder decodes uploads: wav, mp3, aac, m4a, mp4, ogg, opus, webm and flac. It recognises them by their content.
type Decoder interface {
	// Decode writes the audio of an upload to pcm: signed 16-bit little-endian, one channel, at limits.Rate. Its memory
	// does not depend on the size of the upload. Its error is an *UnusableError if a retry cannot succeed, an error of
	// upload or pcm, or else domain.Unavailable. Audio may have been written before an error.
	Decode(ctx context.Context, upload Upload, pcm io.Writer, limits DecodeLimits) (Decoded, error)
}

// DecodeLimits limits the decoding of an upload.
type DecodeLimits struct {
	Rate    int           // Hz, of the decoded audio; 8000 to 48000
	Bytes   int64         // of the upload
	Longest time.Duration // of the decoded audio
}

// Decoded describes a decoded upload.
type Decoded struct {
	Container string // "wav", "mp3", "aac", "mp4", "ogg", "webm" or "flac"
	Codec     string // libav's name, such as "aac"
	Rate      int    // Hz, of the upload
	Channels  int    // of the upload
	Samples   int64  // written
	Damaged   bool   // the upload is cut off, or parts of it could not be decoded
}

// Fault is the reason why an upload cannot be used.
type Fault string

// The faults.
const (
	NotAudio Fault = "not_audio" // an unsupported format, or a file without an audio track
	Broken   Fault = "broken"    // damaged or malicious
	TooLong  Fault = "too_long"  // longer than permitted
	TooLarge Fault = "too_large" // more bytes than permitted, or too much memory or time for decoding
)

// UnusableError means that the upload itself cannot be used. Message may be shown to the client, and contains nothing
// of the upload.
type UnusableError struct {
	Fault   Fault
	Message string
}

func (e *UnusableError) Error() string { return e.Message }
