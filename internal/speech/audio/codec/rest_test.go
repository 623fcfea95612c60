//go:build cgo

package codec_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// The output of an encoder that rests sounds the same, except for at most 20 ms of additional silence.
func TestARestIsNotHeard(t *testing.T) {
	longtest.Only(t)
	pool := openPool(t, 2, time.Minute)
	encoders := audio.NewEncoders(pool)
	for _, spec := range specsOf(audio.Formats()) {
		t.Run(name(spec), func(t *testing.T) {
			// given three phrases with silence after each
			const phrases = 3
			phrase := append(tone(engineRate, 1), make([]byte, 2*int(spec.Lag().Seconds()*engineRate))...)
			steadily, _ := encode(t, encoders, spec, bytes.Repeat(phrase, phrases))

			// when the encoder rests after each
			ctx := context.Background()
			stream, err := encoders.Open(ctx, spec, engineRate)
			require.NoError(t, err)
			defer stream.Close()
			var rested []byte
			for range phrases {
				encoded, err := stream.Encode(ctx, bytes.Clone(phrase))
				require.NoError(t, err)
				rested = append(rested, encoded...)
				require.NoError(t, stream.Rest(ctx))
				requireStreams(t, pool, 0)
			}
			last, err := stream.Finish(ctx)
			require.NoError(t, err)
			rested = append(rested, last...)

			// then the phrases are complete, at their times, and there is no other sound
			want, got := decode(t, spec, steadily), decode(t, spec, rested)
			low, high := heard(got)
			require.InDelta(t, phrases*0.9, low, 0.04, "seconds of 440 Hz")
			require.InDelta(t, phrases*0.1, high, 0.04, "seconds of 1 kHz")
			wantStarts, gotStarts := starts(want.Samples, want.Rate), starts(got.Samples, got.Rate)
			require.Len(t, gotStarts, phrases)
			for i, start := range gotStarts {
				require.InDelta(t, wantStarts[i], start, 0.021*float64(i)+0.001, "the start of phrase %d", i)
			}
			ffmpegAgrees(t, spec, rested)
			if spec.Format == audio.WebM {
				requireOneTimeline(t, rested)
			}
		})
	}
}

// starts returns the times in seconds at which sounds start after at least 15 ms of silence.
func starts(samples []float32, rate int) (starts []float64) {
	silent := rate
	for i, sample := range samples {
		if max(sample, -sample) < 0.02 {
			silent++
			continue
		}
		if silent > rate*15/1000 {
			starts = append(starts, float64(i)/float64(rate))
		}
		silent = 0
	}
	return starts
}

// requireOneTimeline requires one file header, and clusters of at most 40 ms without gaps of more than 20 ms.
func requireOneTimeline(t *testing.T, webm []byte) {
	t.Helper()
	require.Equal(t, 1, bytes.Count(webm, []byte{0x1a, 0x45, 0xdf, 0xa3}))
	var before uint64
	clusters := bytes.Split(webm, []byte{0x1f, 0x43, 0xb6, 0x75})[1:]
	for i, cluster := range clusters {
		at := timecode(t, cluster)
		if i > 0 {
			require.Greater(t, at, before)
			require.LessOrEqual(t, at, before+60)
		}
		before = at
	}
	require.Greater(t, len(clusters), 60)
}

// timecode returns the time of a cluster in milliseconds: its first element.
func timecode(t *testing.T, cluster []byte) uint64 {
	t.Helper()
	at := bytes.IndexByte(cluster[:16], 0xe7)
	require.Positive(t, at)
	size := int(cluster[at+1] & 0x7f)
	return binary.BigEndian.Uint64(append(make([]byte, 8-size), cluster[at+2:at+2+size]...))
}

// An encoder that rests frees its slot for others, and waits for another one to continue.
func TestAFullPoolRefusesNewStreamsOnly(t *testing.T) {
	pool := openPool(t, 1, time.Minute)
	ctx := context.Background()
	phrase := append(tone(engineRate, 0.1), make([]byte, 2*engineRate/5)...)
	resting := openStream(t, pool)
	_, err := resting.Encode(ctx, phrase)
	require.NoError(t, err)
	require.NoError(t, resting.Rest(ctx))

	// given the maximum number of streams
	var others []audio.Encoder
	for range protocol.MaxStreams {
		others = append(others, openStream(t, pool))
	}

	// when one more is opened, then it is refused, and the others continue
	_, err = pool.Open(ctx, mp3, engineRate)
	require.ErrorIs(t, err, codec.ErrBusy)
	for _, other := range others {
		_, err := other.Encode(ctx, bytes.Clone(phrase))
		require.NoError(t, err)
	}

	// and the one that rested continues when a slot is free
	gone, leave := context.WithCancel(ctx)
	leave()
	require.Error(t, resting.Wake(gone))
	woken := make(chan error, 1)
	go func() { woken <- resting.Wake(ctx) }()
	others[0].Close()
	require.NoError(t, <-woken)
	encoded, err := resting.Encode(ctx, phrase)
	require.NoError(t, err)
	require.NotEmpty(t, encoded)
}
