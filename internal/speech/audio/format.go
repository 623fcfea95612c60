package audio

import "slices"

// SampleRates returns the rates of replies in Hz, in the API's order.
func SampleRates() []int { return []int{8000, 16000, 24000} }

// Formats returns the formats in the API's order.
func Formats() []Format {
	return []Format{AAC, MP3, Raw, WAV, ULaw, WebM, PCMS16LE, PCMF32LE}
}

// Lookup returns the format with a name from a client. Several published clients use "mulaw" for ulaw.
func Lookup(name string) (Format, bool) {
	if name == "mulaw" {
		return ULaw, true
	}
	format := Format(name)
	return format, slices.Contains(Formats(), format)
}

// DefaultSampleRate returns the rate in Hz of a reply whose request has none. µ-law is telephony, hence 8 kHz.
func DefaultSampleRate(format Format) int {
	if format == ULaw {
		return 8000
	}
	return 24000
}

// ContentType returns the media type of a reply in this format. The headerless PCM formats have no registered type
// for little-endian samples (audio/L16 is big-endian, RFC 2586), so they have the vendor types of the published API.
func (f Format) ContentType() string {
	switch f {
	case MP3:
		return "audio/mpeg"
	case AAC:
		return "audio/aac"
	case WebM:
		return "audio/webm"
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

// Compressed reports whether a codec library encodes the format, with losses.
func (f Format) Compressed() bool { return f == MP3 || f == AAC || f == WebM }
