//go:build cgo

package codec_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/libav/libavtest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

const engineRate = 22050 // Hz, of espeak-ng

// tone returns a sine of 440 Hz whose last 100 ms have 1 kHz, so that a test can check whether the end is present.
func tone(rate int, seconds float64) []byte {
	n := int(seconds * float64(rate))
	pcm := make([]byte, 0, 2*n)
	for i := range n {
		hertz := 440.0
		if i >= n-rate/10 {
			hertz = 1000
		}
		sample := int16(12000 * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate)))
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(sample))
	}
	return pcm
}

// encode encodes a stream in chunks. It returns the bytes, and the number of them before the last chunk.
func encode(t testing.TB, encoders audio.Encoders, spec audio.Spec, chunks ...[]byte) (encoded []byte, early int) {
	t.Helper()
	ctx := context.Background()
	stream, err := encoders.Open(ctx, spec, engineRate)
	require.NoError(t, err)
	defer stream.Close()
	for _, chunk := range chunks {
		early = len(encoded)
		part, err := stream.Encode(ctx, append([]byte(nil), chunk...))
		require.NoError(t, err)
		encoded = append(encoded, part...)
	}
	part, err := stream.Finish(ctx)
	require.NoError(t, err)
	return append(encoded, part...), early
}

func split(pcm []byte, size int) [][]byte {
	var chunks [][]byte
	for len(pcm) > 0 {
		n := min(size, len(pcm))
		chunks, pcm = append(chunks, pcm[:n]), pcm[n:]
	}
	return chunks
}

// splitOddly splits at random positions, also within samples.
func splitOddly(pcm []byte, pieces int) [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	var chunks [][]byte
	for left := pieces; left > 1 && len(pcm) > 0; left-- {
		n := min(len(pcm), 1+random.IntN(2*len(pcm)/left))
		chunks, pcm = append(chunks, pcm[:n]), pcm[n:]
	}
	return append(chunks, pcm)
}

func everySpec() []audio.Spec { return specsOf(append(audio.Formats(), audio.OggOpus, audio.FLAC)) }

func specsOf(formats []audio.Format) []audio.Spec {
	var specs []audio.Spec
	for _, format := range formats {
		for _, rate := range audio.SampleRates() {
			specs = append(specs, audio.Spec{Format: format, SampleRate: rate})
		}
	}
	return specs
}

func name(spec audio.Spec) string { return fmt.Sprintf("%s at %d Hz", spec.Format, spec.SampleRate) }

// decode returns the samples of a file; headerless PCM is read here, everything else by libav.
func decode(t testing.TB, spec audio.Spec, encoded []byte) libavtest.Decoded {
	t.Helper()
	raw := libavtest.Decoded{Rate: spec.SampleRate, Channels: 1}
	switch spec.Format {
	case audio.Raw, audio.PCMS16LE:
		for i := 0; i < len(encoded); i += 2 {
			raw.Samples = append(raw.Samples, float32(int16(binary.LittleEndian.Uint16(encoded[i:])))/(1<<15))
		}
		return raw
	case audio.PCMF32LE:
		for i := 0; i < len(encoded); i += 4 {
			raw.Samples = append(raw.Samples, math.Float32frombits(binary.LittleEndian.Uint32(encoded[i:])))
		}
		return raw
	}
	decoded, err := libavtest.Decode(spec.Format, encoded)
	require.NoError(t, err)
	return decoded
}

// power returns the mean power at a frequency (Goertzel's algorithm).
func power(samples []float32, rate int, hertz float64) float64 {
	coefficient := 2 * math.Cos(2*math.Pi*hertz/float64(rate))
	var s1, s2 float64
	for _, sample := range samples {
		s1, s2 = float64(sample)+coefficient*s1-s2, s1
	}
	return (s1*s1 + s2*s2 - coefficient*s1*s2) / float64(len(samples)*len(samples))
}

// heard returns the seconds in which each of the two tones is loud, in steps of 10 ms.
func heard(decoded libavtest.Decoded) (low, high float64) {
	const loud = 0.01 // the tones have a power of 0.03
	step := decoded.Rate / 100
	for samples := decoded.Samples; len(samples) >= step; samples = samples[step:] {
		at440, at1000 := power(samples[:step], decoded.Rate, 440), power(samples[:step], decoded.Rate, 1000)
		if at440 > max(loud, at1000) {
			low += 0.01
		}
		if at1000 > max(loud, at440) {
			high += 0.01
		}
	}
	return low, high
}

// longestDelay returns the maximum delay of encoder and decoder in seconds.
func longestDelay(spec audio.Spec) float64 {
	switch spec.Format {
	case audio.MP3:
		return (1105 + 2*576 + 1) / float64(spec.SampleRate)
	case audio.AAC:
		return (1024 + 1024 + 1) / float64(spec.SampleRate)
	case audio.WebM, audio.OggOpus:
		return 0.021
	default:
		return 2 / float64(spec.SampleRate)
	}
}

func TestEveryFormatCarriesTheWholeSpeech(t *testing.T) {
	encoders := audio.NewEncoders(openPool(t, 2, time.Minute))
	const seconds = 3.0
	input := tone(engineRate, seconds)
	for _, spec := range everySpec() {
		t.Run(name(spec), func(t *testing.T) {
			encoded, early := encode(t, encoders, spec, split(input, 2162)...)
			require.NotZero(t, early, "bytes come before the end of the input")

			decoded := decode(t, spec, encoded)
			require.Equal(t, 1, decoded.Channels)
			if spec.Format != audio.WebM && spec.Format != audio.OggOpus { // Opus always decodes at 48 kHz
				require.Equal(t, spec.SampleRate, decoded.Rate)
			}
			require.GreaterOrEqual(t, decoded.Seconds(), seconds-2/float64(spec.SampleRate))
			require.LessOrEqual(t, decoded.Seconds(), seconds+longestDelay(spec))

			low, high := heard(decoded)
			require.InDelta(t, seconds-0.1, low, 0.03, "seconds of 440 Hz")
			require.InDelta(t, 0.1, high, 0.03, "seconds of 1 kHz, which are the end")

			if testing.Short() && spec.SampleRate != audio.SampleRates()[0] {
				return
			}
			ffmpegAgrees(t, spec, encoded)
			whole := audio.Whole(spec, encoded)
			ffmpegAgrees(t, spec, whole, "-xerror")
			if spec.Format == audio.WebM {
				requireDuration(t, whole, seconds+longestDelay(spec))
			}
		})
	}
}

// requireDuration checks the duration in a WebM file to within a frame.
func requireDuration(t *testing.T, webm []byte, seconds float64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "speech.webm")
	require.NoError(t, os.WriteFile(file, webm, 0o600))
	said, err := exec.Command(bintest.Tool(t, "ffprobe"), "-v", "error", "-show_entries", "format=duration", "-of",
		"csv=p=0", file).Output()
	require.NoError(t, err)
	got, err := strconv.ParseFloat(strings.TrimSpace(string(said)), 64)
	require.NoError(t, err, "there is no duration: %s", said)
	require.InDelta(t, seconds, got, 0.06)
}

// ffmpegAgrees checks that the ffmpeg program decodes without errors.
func ffmpegAgrees(t *testing.T, spec audio.Spec, encoded []byte, options ...string) {
	t.Helper()
	ffmpeg := bintest.Tool(t, "ffmpeg")
	file := filepath.Join(t.TempDir(), "speech")
	require.NoError(t, os.WriteFile(file, encoded, 0o600))
	args := append([]string{"-v", "error"}, options...)
	switch spec.Format {
	case audio.Raw, audio.PCMS16LE:
		args = append(args, "-f", "s16le", "-ar", fmt.Sprint(spec.SampleRate))
	case audio.PCMF32LE:
		args = append(args, "-f", "f32le", "-ar", fmt.Sprint(spec.SampleRate))
	}
	output, err := exec.Command(ffmpeg, append(args, "-i", file, "-f", "null", "-")...).CombinedOutput()
	require.NoError(t, err, string(output))
	require.Empty(t, string(output))
}

func TestBytesDependOnTheSpeechAlone(t *testing.T) {
	encoders := audio.NewEncoders(openPool(t, 2, time.Minute))
	input := tone(engineRate, 3)
	for _, spec := range everySpec() {
		t.Run(name(spec), func(t *testing.T) {
			whole, _ := encode(t, encoders, spec, input)
			again, _ := encode(t, encoders, spec, input)
			pieces, _ := encode(t, encoders, spec, splitOddly(input, 200)...)
			require.Equal(t, whole, again, "a second run")
			require.Equal(t, whole, pieces, "odd-sized pieces")
		})
	}
}

func TestNoSpeechIsNoError(t *testing.T) {
	encoders := audio.NewEncoders(openPool(t, 1, time.Minute))
	for _, spec := range everySpec() {
		t.Run(name(spec), func(t *testing.T) {
			encode(t, encoders, spec)
			encode(t, encoders, spec, nil, []byte{})
		})
	}
}
