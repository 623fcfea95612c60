//go:build cgo

package codec_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
)

// chunk is 49 ms of samples, as from espeak-ng.
const chunk = 2 * 1081

// BenchmarkFirstByte measures the time from opening a stream to its first encoded byte.
func BenchmarkFirstByte(b *testing.B) {
	encoders := audio.NewEncoders(openPool(b, 1, time.Minute))
	ctx := context.Background()
	chunks := split(tone(engineRate, 1), chunk)
	for _, format := range audio.Formats() {
		b.Run(string(format), func(b *testing.B) {
			for b.Loop() {
				stream, err := encoders.Open(ctx, audio.Spec{Format: format, SampleRate: 24000}, engineRate)
				require.NoError(b, err)
				got := 0
				for i := 0; got == 0; i++ {
					part, err := stream.Encode(ctx, append([]byte(nil), chunks[i]...))
					require.NoError(b, err)
					got = len(part)
				}
				stream.Close()
			}
		})
	}
}

// BenchmarkThroughput encodes pieces of six seconds in one stream, and in many.
func BenchmarkThroughput(b *testing.B) {
	encoders := audio.NewEncoders(openPool(b, 2, time.Minute))
	const seconds = 6
	chunks := split(tone(engineRate, seconds), chunk)
	for _, format := range audio.Formats() {
		spec := audio.Spec{Format: format, SampleRate: 24000}
		b.Run(string(format), func(b *testing.B) {
			for b.Loop() {
				encode(b, encoders, spec, chunks...)
			}
			b.ReportMetric(seconds*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
		})
		b.Run(string(format)+"/parallel", func(b *testing.B) {
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					encode(b, encoders, spec, chunks...)
				}
			})
			b.ReportMetric(seconds*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
		})
	}
}
