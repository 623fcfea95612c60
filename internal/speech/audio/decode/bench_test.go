//go:build cgo

package decode_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/decode"
	"github.com/recital-tts/recital/internal/speech/audio/libav/libavtest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkDecode measures the seconds of audio decoded per second, compared with libav in this process, without a
// separate process, a pipe, confinement or resampling.
func BenchmarkDecode(b *testing.B) {
	seconds := float64(benchtest.Size(300, 20))
	for _, c := range []struct {
		name   string
		kind   libavtest.Kind
		format audio.Format
	}{
		{"wav", libavtest.Kind{Muxer: "wav", Codec: "pcm_s16le"}, audio.WAV},
		{"mp3", libavtest.Kind{Muxer: "mp3", Codec: "libmp3lame"}, audio.MP3},
		{"webm", libavtest.Kind{Muxer: "webm", Codec: "libopus"}, audio.WebM},
	} {
		b.Run(c.name, func(b *testing.B) {
			file := tone(b, c.kind, seconds, 48000, 1)
			pool := decode.NewPool(decode.Config{Command: command()})
			limits := audio.DecodeLimits{Rate: rate, Longest: time.Hour}
			var ours, bare time.Duration
			for b.Loop() {
				start := time.Now()
				_, err := pool.Decode(b.Context(), bytes.NewReader(file), &bytes.Buffer{}, limits)
				require.NoError(b, err)
				ours += time.Since(start)
				start = time.Now()
				_, err = libavtest.Decode(c.format, file)
				require.NoError(b, err)
				bare += time.Since(start)
			}
			all := seconds * float64(b.N)
			benchtest.Compare(b, "audio-s/s", all/ours.Seconds(), all/bare.Seconds())
			benchtest.Finish(b)
		})
	}
}
