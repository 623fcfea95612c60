//go:build cgo

package decode_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/decode"
	"github.com/recital-tts/recital/internal/speech/audio/libav/libavtest"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// speechworker is the real binary, built once by TestMain.
var speechworker bintest.Program

func TestMain(m *testing.M) { workertest.Main(m, &speechworker, nil) }

const rate = 16000 // requested rate in Hz

func command() workers.Command { return workertest.Mode(speechworker, "decode") }

func limits() audio.DecodeLimits {
	return audio.DecodeLimits{Rate: rate, Bytes: 16 << 20, Longest: time.Minute}
}

// kind is a kind of file that clients send.
type kind struct {
	name      string
	container string
	codec     string
	encoder   libavtest.Kind
}

func kinds() []kind {
	return []kind{
		{"wav", "wav", "pcm_s16le", libavtest.Kind{Muxer: "wav", Codec: "pcm_s16le"}},
		{"wav of floats", "wav", "pcm_f32le", libavtest.Kind{Muxer: "wav", Codec: "pcm_f32le"}},
		{"wav of µ-law", "wav", "pcm_mulaw", libavtest.Kind{Muxer: "wav", Codec: "pcm_mulaw"}},
		{"mp3", "mp3", "mp3", libavtest.Kind{Muxer: "mp3", Codec: "libmp3lame"}},
		{"aac", "aac", "aac", libavtest.Kind{Muxer: "adts", Codec: "aac"}},
		{"m4a", "mp4", "aac", libavtest.Kind{Muxer: "ipod", Codec: "aac"}},
		{"mp4", "mp4", "aac", libavtest.Kind{Muxer: "mp4", Codec: "aac"}},
		{"mp4 of alac", "mp4", "alac", libavtest.Kind{Muxer: "mp4", Codec: "alac"}},
		{"ogg", "ogg", "vorbis", libavtest.Kind{Muxer: "ogg", Codec: "libvorbis"}},
		{"opus", "ogg", "opus", libavtest.Kind{Muxer: "opus", Codec: "libopus"}},
		{"webm", "webm", "opus", libavtest.Kind{Muxer: "webm", Codec: "libopus"}},
		{"flac", "flac", "flac", libavtest.Kind{Muxer: "flac", Codec: "flac"}},
		{"flac in ogg", "ogg", "flac", libavtest.Kind{Muxer: "ogg", Codec: "flac"}},
	}
}

const (
	pitch  = 440.0 // Hz
	volume = 0.5
)

// tone returns a file with a tone.
func tone(t testing.TB, of libavtest.Kind, seconds float64, rate, channels int) []byte {
	t.Helper()
	samples := make([]float32, 0, int(seconds*float64(rate))*channels)
	for i := range int(seconds * float64(rate)) {
		sample := float32(volume * math.Sin(2*math.Pi*pitch*float64(i)/float64(rate)))
		for range channels {
			samples = append(samples, sample)
		}
	}
	file, err := libavtest.Encode(of, samples, rate, channels)
	require.NoError(t, err)
	return file
}

func decodeFile(t testing.TB, file []byte, limits audio.DecodeLimits) ([]byte, audio.Decoded, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var pcm bytes.Buffer
	decoded, err := decode.NewPool(decode.Config{Command: command()}).Decode(ctx, bytes.NewReader(file), &pcm, limits)
	return pcm.Bytes(), decoded, err
}

// requireTone verifies that nearly all of the power of the samples, except at their ends, belongs to the tone.
func requireTone(t testing.TB, pcm []byte) {
	t.Helper()
	const edge = rate / 10
	require.Greater(t, len(pcm)/2, 4*edge)
	var power, cosine, sine float64
	n := 0
	for i := edge; i < len(pcm)/2-edge; i++ {
		sample := float64(int16(binary.LittleEndian.Uint16(pcm[2*i:]))) / 32768
		power += sample * sample
		cosine += sample * math.Cos(2*math.Pi*pitch*float64(i)/rate)
		sine += sample * math.Sin(2*math.Pi*pitch*float64(i)/rate)
		n++
	}
	mean := power / float64(n)
	require.InDelta(t, volume*volume/2, mean, 0.02, "the level")
	require.Greater(t, 2*(cosine*cosine+sine*sine)/float64(n)/power, 0.95, "the share of the tone in the power")
}
