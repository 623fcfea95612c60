package worker_test

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkFirstAudio measures the time from a request of 20 words to its first samples, with one client.
func BenchmarkFirstAudio(b *testing.B) {
	pool := openPool(b, 1)
	speaker := speech.NewSpeaker(pool)
	var waits []time.Duration
	for b.Loop() {
		start := time.Now()
		stream := speaker.Speak(b.Context(), speech.Request{Text: enginetest.Sentence, Voice: speech.Voices()[0]})
		_, err := stream.Next(b.Context())
		waits = append(waits, time.Since(start))
		for err == nil {
			_, err = stream.Next(b.Context())
		}
		require.ErrorIs(b, err, io.EOF)
		stream.Close()
	}
	slices.Sort(waits)
	b.ReportMetric(waits[len(waits)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(waits[len(waits)*99/100].Seconds()*1000, "p99-ms")
}

// BenchmarkFrontEnd measures the delay of an engine's first samples by the front end. The engine speaks the same text
// with it and without it in turn.
func BenchmarkFrontEnd(b *testing.B) {
	pool := openPool(b, 1)
	front := speech.WithFrontEnd(pool, nil)
	var ours, bare []time.Duration
	for b.Loop() {
		ours = append(ours, firstAudio(b, front))
		bare = append(bare, firstAudio(b, pool))
	}
	slices.Sort(ours)
	slices.Sort(bare)
	with, without := ours[len(ours)/2], bare[len(bare)/2]
	benchtest.Compare(b, "p50-ms", with.Seconds()*1000, without.Seconds()*1000)
	b.ReportMetric((with-without).Seconds()*1000, "more-ms")
	benchtest.Finish(b)
}

func firstAudio(b *testing.B, engine speech.Engine) time.Duration {
	job := enginetest.Job(enginetest.Sentence)
	job.First = true
	start := time.Now()
	utterance, err := engine.Speak(b.Context(), job)
	require.NoError(b, err)
	defer utterance.Close()
	_, err = utterance.Next(b.Context())
	wait := time.Since(start)
	for err == nil {
		_, err = utterance.Next(b.Context())
	}
	require.ErrorIs(b, err, io.EOF)
	return wait
}

// BenchmarkThroughput measures the seconds of audio that fully loaded workers synthesise per second.
func BenchmarkThroughput(b *testing.B) {
	for _, size := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", size), func(b *testing.B) {
			pool := openPool(b, size)
			var bytes atomic.Int64
			b.SetParallelism(4)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					s, err := enginetest.Speak(b.Context(), pool, enginetest.Job(enginetest.Sentence))
					if err != nil {
						b.Error(err)
					}
					bytes.Add(int64(len(s.PCM)))
				}
			})
			b.ReportMetric(float64(bytes.Load())/2/float64(pool.SampleRate())/b.Elapsed().Seconds(), "audio-s/s")
		})
	}
}
