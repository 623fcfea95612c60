package formant_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/decode"
	"github.com/recital-tts/recital/internal/speech/cloning"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkClone compares the time from an upload to a clone with the time for decoding alone.
func BenchmarkClone(b *testing.B) {
	cloner, engine := newCloner(b)
	pcm := bytes.Join(say(b, engine, speech.Voices()[0], given()...), nil)
	decoder := decode.NewPool(decode.Config{Command: workertest.Mode(workerBinary, "decode")})
	for _, seconds := range slices.Compact([]int{30, benchtest.Size(1200, 30)}) {
		b.Run(fmt.Sprintf("%d s", seconds), func(b *testing.B) {
			file := wave(bytes.Repeat(pcm, seconds*rate*2/len(pcm)+1)[:seconds*rate*2])
			var ours, bare time.Duration
			for b.Loop() {
				start := time.Now()
				var decoded bytes.Buffer
				_, err := decoder.Decode(b.Context(), bytes.NewReader(file), &decoded,
					audio.DecodeLimits{Rate: rate, Longest: time.Hour})
				require.NoError(b, err)
				bare += time.Since(start)
				analysis, err := cloner.Analyse(b.Context(), cloning.Recording{PCM: &decoded, Rate: rate}, cloning.Options{})
				require.NoError(b, err)
				_, err = cloner.Fit(b.Context(), []cloning.Analysis{analysis}, cloning.Profile{}, nil)
				require.NoError(b, err)
				ours += time.Since(start)
			}
			benchtest.Compare(b, "s/clone", ours.Seconds()/float64(b.N), bare.Seconds()/float64(b.N))
			benchtest.Finish(b)
		})
	}
}

// wave returns samples as a WAV file.
func wave(pcm []byte) []byte {
	le := binary.LittleEndian
	out := le.AppendUint32([]byte("RIFF"), uint32(36+len(pcm)))
	out = le.AppendUint32(append(out, "WAVEfmt "...), 16)
	out = le.AppendUint16(le.AppendUint16(out, 1), 1)
	out = le.AppendUint32(le.AppendUint32(out, rate), 2*rate)
	out = le.AppendUint16(le.AppendUint16(out, 2), 16)
	out = le.AppendUint32(append(out, "data"...), uint32(len(pcm)))
	return append(out, pcm...)
}
