package audio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// noCodecs stands in for codec processes that are not running.
type noCodecs struct{}

var errNoCodecs = errors.New("no codec is running")

func (noCodecs) Open(context.Context, audio.Spec, int) (audio.Encoder, error) {
	return nil, errNoCodecs
}

// encode encodes without a codec process: the input already has the rate.
func encode(t testing.TB, format audio.Format, chunks ...[]byte) []byte {
	t.Helper()
	ctx := context.Background()
	stream, err := audio.NewEncoders(noCodecs{}).Open(ctx, audio.Spec{Format: format, SampleRate: 8000}, 8000)
	require.NoError(t, err)
	defer stream.Close()
	var encoded []byte
	for _, chunk := range chunks {
		part, err := stream.Encode(ctx, bytes.Clone(chunk))
		require.NoError(t, err)
		encoded = append(encoded, part...)
	}
	part, err := stream.Finish(ctx)
	require.NoError(t, err)
	return append(encoded, part...)
}

func samples(values ...int16) []byte {
	var pcm []byte
	for _, value := range values {
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(value))
	}
	return pcm
}

func TestFormatsOfTheInterface(t *testing.T) {
	for _, c := range []struct {
		name, contentType string
		rate              int
	}{
		{"aac", "audio/aac", 24000},
		{"mp3", "audio/mpeg", 24000},
		{"raw", "application/vnd.lmnt.audio-int16", 24000},
		{"wav", "audio/wav", 24000},
		{"ulaw", "audio/wav", 8000},
		{"webm", "audio/webm", 24000},
		{"pcm_s16le", "application/vnd.lmnt.audio-int16", 24000},
		{"pcm_f32le", "application/vnd.lmnt.audio-fp32", 24000},
	} {
		format := audio.Format(c.name)
		require.Equal(t, c.contentType, format.ContentType())
		require.Equal(t, c.rate, audio.DefaultSampleRate(format))
		require.Contains(t, audio.Formats(), format)
	}
	require.Len(t, audio.Formats(), 8)
}

func TestPCMFormats(t *testing.T) {
	input := samples(0, 1, -1, 16384, math.MaxInt16, math.MinInt16)
	require.Equal(t, input, encode(t, audio.PCMS16LE, input))
	require.Equal(t, input, encode(t, audio.Raw, input))

	floats := encode(t, audio.PCMF32LE, input)
	var values []float32
	for ; len(floats) > 0; floats = floats[4:] {
		values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(floats)))
	}
	require.Equal(t, []float32{0, 1. / 32768, -1. / 32768, 0.5, 32767. / 32768, -1}, values)
}

func TestWAVCanBeSentBeforeItsLengthIsKnown(t *testing.T) {
	input := samples(1, 2, 3)
	for _, c := range []struct {
		format            audio.Format
		header, formatTag int
		bytesPerSample    int
	}{
		{audio.WAV, 44, 1, 2},
		{audio.ULaw, 58, 7, 1},
	} {
		t.Run(string(c.format), func(t *testing.T) {
			streamed := encode(t, c.format, input)
			le := binary.LittleEndian
			require.Equal(t, "RIFF\xff\xff\xff\xffWAVEfmt ", string(streamed[:16]))
			require.EqualValues(t, c.formatTag, le.Uint16(streamed[20:]))
			require.EqualValues(t, 1, le.Uint16(streamed[22:]), "channels")
			require.EqualValues(t, 8000, le.Uint32(streamed[24:]), "samples per second")
			require.EqualValues(t, 8000*c.bytesPerSample, le.Uint32(streamed[28:]), "bytes per second")
			require.EqualValues(t, c.bytesPerSample, le.Uint16(streamed[32:]), "bytes per sample")
			require.EqualValues(t, 8*c.bytesPerSample, le.Uint16(streamed[34:]), "bits per sample")
			require.Equal(t, "data\xff\xff\xff\xff", string(streamed[c.header-8:c.header]))
			require.Len(t, streamed, c.header+3*c.bytesPerSample)
			if c.format == audio.ULaw {
				require.Zero(t, le.Uint32(streamed[c.header-12:]), "players take another number in the fact chunk for the length")
			}

			data := bytes.Clone(streamed[c.header:])
			whole := audio.Whole(audio.Spec{Format: c.format, SampleRate: 8000}, streamed)
			require.Zero(t, len(whole)%2)
			require.EqualValues(t, len(whole)-8, le.Uint32(whole[4:]))
			require.EqualValues(t, len(data), le.Uint32(whole[c.header-4:]))
			require.Equal(t, data, whole[c.header:c.header+len(data)])
			if c.format == audio.ULaw {
				require.EqualValues(t, 3, le.Uint32(whole[c.header-12:]), "samples, in the fact chunk")
			}
		})
	}
}

func TestWholeLeavesOtherBytesAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOf(rapid.Byte()).Draw(t, "content")
		for _, format := range []audio.Format{audio.MP3, audio.AAC, audio.WebM, audio.Raw, audio.PCMS16LE, audio.PCMF32LE} {
			require.Equal(t, content, audio.Whole(audio.Spec{Format: format, SampleRate: 8000}, bytes.Clone(content)))
		}
		short := content[:min(len(content), 43)]
		require.Equal(t, short, audio.Whole(audio.Spec{Format: audio.WAV, SampleRate: 8000}, bytes.Clone(short)))
	})
}

func TestChunksDoNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		chunks := rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(rt, "chunks")
		format := rapid.SampledFrom([]audio.Format{audio.Raw, audio.WAV, audio.ULaw, audio.PCMF32LE}).Draw(rt, "format")
		require.Equal(rt, encode(t, format, bytes.Join(chunks, nil)), encode(t, format, chunks...))
	})
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	ctx := context.Background()
	encoders := audio.NewEncoders(noCodecs{})
	for _, spec := range []audio.Spec{
		{Format: "ogg", SampleRate: 24000}, {Format: audio.MP3, SampleRate: 11025}, {Format: audio.WAV}, {SampleRate: 8000},
	} {
		_, err := encoders.Open(ctx, spec, 22050)
		require.ErrorIs(t, err, audio.ErrUnsupported)
	}
	for _, spec := range []audio.Spec{
		{Format: audio.MP3, SampleRate: 24000}, {Format: audio.WAV, SampleRate: 24000},
	} {
		_, err := encoders.Open(ctx, spec, 22050)
		require.ErrorIs(t, err, errNoCodecs)
	}
}

// sox is an independent reader of WAV files.
func TestSoxReadsStreamedWAV(t *testing.T) {
	sox := bintest.Tool(t, "sox")
	for _, format := range []audio.Format{audio.WAV, audio.ULaw} {
		input := samples(make([]int16, 4000)...)
		folder := t.TempDir()
		in, out := filepath.Join(folder, "in.wav"), filepath.Join(folder, "out.s16")
		require.NoError(t, os.WriteFile(in, encode(t, format, input), 0o600))
		message, err := exec.Command(sox, in, "-b", "16", "-e", "signed", "-t", "raw", out).CombinedOutput()
		require.NoError(t, err, string(message))
		decoded, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Len(t, decoded, len(input))
	}
}
