// Package audio defines the formats of replies: their names, content types and containers. Formats that need a codec
// library are encoded in codec processes (subpackage codec); PCM, WAV and µ-law are encoded here.
package audio

import "context"

// Format is a format of the API.
type Format string

// The formats.
const (
	AAC      Format = "aac"
	MP3      Format = "mp3"
	Raw      Format = "raw" // the same bytes as PCMS16LE
	WAV      Format = "wav"
	ULaw     Format = "ulaw" // µ-law (ITU-T G.711) in a WAV container
	WebM     Format = "webm" // Opus in a live WebM container
	PCMS16LE Format = "pcm_s16le"
	PCMF32LE Format = "pcm_f32le"
)

// Spec describes a reply's audio: one channel in a format at a sample rate.
type Spec struct {
	Format     Format
	SampleRate int // Hz: 8000, 16000 or 24000
}

// Encoder encodes one stream of speech. Its methods are called by one goroutine at a time.
type Encoder interface {
	// Encode encodes samples (signed 16-bit little-endian, one channel, at the input rate) and returns the bytes that
	// are ready, which may be none. The slices belong to their receivers.
	Encode(ctx context.Context, pcm []byte) ([]byte, error)
	// Finish returns the last bytes.
	Finish(ctx context.Context) ([]byte, error)
	// Rest gives the encoder's place in a codec process back; Wake takes another one, as Encode does if it must. What
	// was encoded must end with Lag of silence, a part of which is lost. Bytes that this completes are returned by the
	// next call of Encode or Finish.
	Rest(ctx context.Context) error
	Wake(ctx context.Context) error
	// Close releases the encoder's resources; it may be called after Finish and more than once.
	Close()
}

// Encoders opens encoders.
type Encoders interface {
	// Open starts a stream of samples at inputRate Hz.
	Open(ctx context.Context, spec Spec, inputRate int) (Encoder, error)
}
