package audio

import (
	"context"
	"io"
	"time"
)

// Upload is a file that a client sent: a bytes.Reader, an io.SectionReader or a file of package spool. It is read at
// any place, because the index of some files stands at their end.
type Upload interface {
	io.ReaderAt
	Size() int64
}

// Decoder decodes uploads: wav, mp3, aac, m4a, mp4, ogg, opus, webm and flac, which it recognises by their content.
type Decoder interface {
	// Decode writes the audio of an upload to pcm: signed 16-bit little-endian, one channel, at limits.Rate. Its memory
	// does not depend on the size of the upload. Errors: *UnusableError for what no repetition changes, those of the
	// upload and of pcm, and domain.Unavailable for the rest. Something may have been written before an error.
	Decode(ctx context.Context, upload Upload, pcm io.Writer, limits DecodeLimits) (Decoded, error)
}

// DecodeLimits are what an upload may come to.
type DecodeLimits struct {
	Rate    int           // Hz, of the decoded audio; 8000 to 48000
	Bytes   int64         // of the upload
	Longest time.Duration // of the decoded audio
}

// Decoded describes an upload that was decoded.
type Decoded struct {
	Container string // "wav", "mp3", "mp4", "ogg", "webm" or "flac"
	Codec     string // as libav names it, such as "aac"
	Rate      int    // Hz, of the upload
	Channels  int    // of the upload
	Samples   int64  // that were written
	Damaged   bool   // the upload is cut off, or parts of it were left out because they cannot be decoded
}

// Fault is why an upload cannot be used.
type Fault string

// The faults.
const (
	NotAudio Fault = "not_audio" // no supported format, or a file without a track of sound
	Broken   Fault = "broken"    // damaged, or made to do harm
	TooLong  Fault = "too_long"  // more audio than is permitted
	TooLarge Fault = "too_large" // more bytes than are permitted, or more memory or time than decoding may take
)

// UnusableError is an upload's own fault. Message may be shown to the client, and contains nothing of the upload.
type UnusableError struct {
	Fault   Fault
	Message string
}

func (e *UnusableError) Error() string { return e.Message }
