package classic_test

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/decode"
	"github.com/recital-tts/recital/internal/speech/precheck/classic"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkPrecheck compares the time for a second of an uploaded recording with the time for decoding it.
func BenchmarkPrecheck(b *testing.B) {
	seconds := benchtest.Size(60, 10)
	upload := murmur(seconds)
	decoder := decode.NewPool(decode.Config{Command: workertest.Mode(speechworker, "decode")})
	checker := &classic.Checker{Decoder: decoder, Longest: time.Hour, Listener: deaf{}}
	var ours, bare time.Duration
	for b.Loop() {
		start := time.Now()
		_, err := checker.Check(b.Context(), upload)
		require.NoError(b, err)
		ours += time.Since(start)
		start = time.Now()
		_, err = decoder.Decode(b.Context(), upload, io.Discard, audio.DecodeLimits{Rate: 16000, Longest: time.Hour})
		require.NoError(b, err)
		bare += time.Since(start)
	}
	sound := float64(seconds) * float64(b.N)
	benchtest.Compare(b, "ms/audio-s", 1000*ours.Seconds()/sound, 1000*bare.Seconds()/sound)
	benchtest.Finish(b)
}

// murmur returns a file with a pitch that comes and goes in noise.
func murmur(seconds int) *bytes.Reader {
	u := acousticstest.Utterance{Rate: 16000, Samples: make([]int16, seconds*16000)}
	random := rand.New(rand.NewPCG(1, 1))
	for i := range u.Samples {
		at, value := float64(i)/16000, 0.0
		for h := 1.0; h < 20; h++ {
			value += math.Sin(2*math.Pi*130*h*at+h*h) / h
		}
		u.Samples[i] = int16(3000*value*max(math.Sin(2*math.Pi*at), 0) + 20*random.NormFloat64())
	}
	return file(u)
}
