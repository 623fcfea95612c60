//go:build cgo

package libav

import (
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
)

// recipe has the settings of a format, in libav's own names. Without a codec it means plain PCM.
type recipe struct {
	codec, codecOptions string
	muxer, muxerOptions string
	bitRate             int // bits per second
}

// recipeFor returns settings for speech that give an early first byte, and the same bytes in every run.
func recipeFor(o protocol.Opening) recipe {
	switch o.Format {
	case audio.MP3:
		// Without a reservoir every frame can be decoded alone. The bit rate is constant, because players derive the length
		// from it without a Xing header, which cannot be written before the end is known.
		return recipe{
			codec: "libmp3lame", codecOptions: "reservoir=0:compression_level=7",
			muxer: "mp3", muxerOptions: "write_xing=0:id3v2_version=0",
			bitRate: mp3BitRate(o.SampleRate),
		}
	case audio.AAC:
		return recipe{
			codec: "aac", codecOptions: "aac_coder=fast",
			muxer:   "adts",
			bitRate: 3 * o.SampleRate, // a frame of 1,024 samples has at most 6 bits per sample (ISO/IEC 14496-3)
		}
	case audio.WebM:
		return opus("webm", "live=1:cluster_time_limit=40")
	case audio.OggOpus:
		return opus("ogg", "page_duration=40000") // µs
	case audio.FLAC:
		return recipe{codec: "flac", codecOptions: "compression_level=5", muxer: "flac"}
	default:
		return recipe{}
	}
}

// opus returns settings for Opus in a container. RFC 6716, section 2.1.1, recommends 28 to 40 kbit/s for full-band
// speech.
func opus(muxer, muxerOptions string) recipe {
	return recipe{
		codec: "libopus", codecOptions: "compression_level=5:frame_duration=20",
		muxer: muxer, muxerOptions: muxerOptions, bitRate: 32000,
	}
}

// mp3BitRate returns rates from the MPEG-2 and 2.5 Layer III table (ISO/IEC 13818-3) that are transparent for speech.
func mp3BitRate(sampleRate int) int {
	switch sampleRate {
	case 8000:
		return 32000
	case 16000:
		return 48000
	default:
		return 64000
	}
}
