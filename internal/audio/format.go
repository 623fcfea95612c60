package audio

import "slices"

// SampleRates are the rates of the replies in Hz, as the interface lists them.
func SampleRates() []int { return []int{8000, 16000, 24000} }

// Formats lists the formats in the interface's order.
func Formats() []Format {
	return []Format{AAC, MP3, Raw, WAV, ULaw, WebM, PCMS16LE, PCMF32LE}
}

// Lookup finds a format by the name that a client sent. "mulaw" is what several published clients call ulaw.
func Lookup(name string) (Format, bool) {
	if name == "mulaw" {
		return ULaw, true
	}
	format := Format(name)
	return format, slices.Contains(Formats(), format)
}

// DefaultSampleRate is the rate in Hz of a reply whose request names none. µ-law is telephony, hence 8 kHz.
func DefaultSampleRate(format Format) int {
	if format == ULaw {
		return 8000
	}
	return 24000
}

// ContentType is the media type of a reply in this format. The headerless PCM formats have no registered type that
// says little-endian (audio/L16 is big-endian, RFC 2586), so they carry the vendor types that the published API sends.
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
