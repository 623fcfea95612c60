// Package audio defines the formats of replies: their names, content types and containers. It encodes PCM, WAV and
// µ-law itself. Formats that need a codec library are encoded in codec processes (subpackage codec).
package audio

import (
	"context"
	"encoding/binary"
	"time"
)

// Format is an audio format of the API.
type Format string

// The formats.
const (
	AAC      Format = "aac"
	MP3      Format = "mp3"
	Raw      Format = "raw" // same as PCMS16LE
	WAV      Format = "wav"
	ULaw     Format = "ulaw" // µ-law (ITU-T G.711) in a WAV container
	WebM     Format = "webm" // Opus in a live WebM container
	PCMS16LE Format = "pcm_s16le"
	PCMF32LE Format = "pcm_f32le"
)

// Formats of OpenAI's interface only. Their streams cannot be continued after Encoder.Rest.
const (
	OggOpus Format = "ogg_opus" // Opus in Ogg (RFC 7845)
	FLAC    Format = "flac"
)

// Spec is the format and sample rate of a reply's audio, which has one channel.
type Spec struct {
	Format     Format
	SampleRate int // Hz: 8000, 16000 or 24000
}

// Encoder encodes a stream of speech. Its methods must not be called concurrently.
type Encoder interface {
	// Encode encodes samples (signed 16-bit little-endian, one channel, at the input rate) and returns the bytes that are
	// ready, which may be none. The receiver of a slice owns it.
	Encode(ctx context.Context, pcm []byte) ([]byte, error)
	// Finish returns the last bytes.
	Finish(ctx context.Context) ([]byte, error)
	// Rest releases the encoder's stream in a codec process. Wake gets another one, and Encode calls Wake if necessary.
	// The samples before Rest must end with Lag of silence, part of which is lost. The next call of Encode or Finish
	// returns the bytes that Rest completes.
	Rest(ctx context.Context) error
	Wake(ctx context.Context) error
	// Close releases the encoder's resources. It may be called after Finish and more than once.
	Close()
}

// Encoders opens encoders.
type Encoders interface {
	// Open starts a stream of samples at inputRate Hz.
	Open(ctx context.Context, spec Spec, inputRate int) (Encoder, error)
}

// SampleRates returns the sample rates of replies in Hz, in the API's order.
func SampleRates() []int { return []int{8000, 16000, 24000} }

// Formats returns the formats in the API's order, except those of OpenAI's interface only.
func Formats() []Format {
	return []Format{AAC, MP3, Raw, WAV, ULaw, WebM, PCMS16LE, PCMF32LE}
}

// DefaultSampleRate returns the sample rate in Hz for a request without one. µ-law is telephony, hence 8 kHz.
func DefaultSampleRate(format Format) int {
	if format == ULaw {
		return 8000
	}
	return 24000
}

// ContentType returns the media type of the format. There is no registered type for little-endian PCM without a header
// (audio/L16 is big-endian, RFC 2586), so these formats have the vendor types of the published API.
func (f Format) ContentType() string {
	switch f {
	case MP3:
		return "audio/mpeg"
	case AAC:
		return "audio/aac"
	case WebM:
		return "audio/webm"
	case OggOpus:
		return "audio/ogg"
	case FLAC:
		return "audio/flac"
	case WAV, ULaw:
		return "audio/wav"
	case Raw, PCMS16LE:
		return "application/vnd.lmnt.audio-int16"
	case PCMF32LE:
		return "application/vnd.lmnt.audio-fp32"
	default:
		return "application/octet-stream"
	}
}

// Compressed reports whether the format is encoded with losses.
func (f Format) Compressed() bool { return f == MP3 || f == AAC || f == WebM || f == OggOpus }

// inaudible is the largest sample that counts as silence: -66 dB.
const inaudible = 16

// TrailingSilence returns the number of samples of silence at the end of signed 16-bit little-endian samples.
func TrailingSilence(pcm []byte) int {
	n := len(pcm) / 2
	for i := n; i > 0; i-- {
		if sample := int16(binary.LittleEndian.Uint16(pcm[2*i-2:])); sample > inaudible || sample < -inaudible {
			return n - i
		}
	}
	return n
}

// AppendSamples appends the samples of signed 16-bit little-endian PCM.
func AppendSamples(samples []int16, pcm []byte) []int16 {
	for ; len(pcm) >= 2; pcm = pcm[2:] {
		samples = append(samples, int16(binary.LittleEndian.Uint16(pcm)))
	}
	return samples
}

// Lag returns the duration of silence that pushes the last sound out of the encoder. A codec holds its look-ahead and
// an incomplete frame, at most 3,000 samples at its rate. A resampler holds a few milliseconds.
func (s Spec) Lag() time.Duration {
	switch s.Format {
	case MP3, AAC, WebM, OggOpus, FLAC:
		return 3400 * time.Second / time.Duration(s.SampleRate)
	default:
		return 20 * time.Millisecond
	}
}

// BytesPerSample returns the size of a sample in formats without compression. For other formats, it returns the size of
// a sample before encoding.
func (s Spec) BytesPerSample() int {
	switch s.Format {
	case PCMF32LE:
		return 4
	case ULaw:
		return 1
	default:
		return 2
	}
}
