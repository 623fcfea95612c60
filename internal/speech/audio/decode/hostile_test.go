//go:build cgo

package decode_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/procfs"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/libav/libavtest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

var errOther = errors.New("neither audio nor the upload's fault")

// requireHarmless verifies that a hostile file is decoded within its limits or refused by its own fault.
func requireHarmless(t testing.TB, file []byte) (decoded audio.Decoded, unusable *audio.UnusableError) {
	t.Helper()
	pcm, decoded, err := decodeFile(t, file, limits())
	require.LessOrEqual(t, time.Duration(len(pcm)/2)*time.Second/rate, limits().Longest)
	require.Empty(t, procfs.Children(os.Getpid()))
	if err != nil && !errors.As(err, &unusable) {
		require.NoError(t, fmt.Errorf("%w: %w", errOther, err))
	}
	return decoded, unusable
}

func TestFilesThatAreCutOff(t *testing.T) {
	longtest.Only(t)
	for _, kind := range kinds() {
		t.Run(kind.name, func(t *testing.T) {
			whole := tone(t, kind.encoder, 2, 48000, 1)
			for _, part := range []float64{0.0005, 0.1, 0.5, 0.999} {
				decoded, unusable := requireHarmless(t, whole[:int(part*float64(len(whole)))])
				if unusable == nil {
					require.Positive(t, decoded.Samples)
					require.LessOrEqual(t, decoded.Samples, int64(2.1*rate))
				}
			}
		})
	}
}

func TestFilesWithBrokenParts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rounds := 8
	if testing.Short() {
		rounds = 1
	}
	for _, kind := range kinds() {
		t.Run(kind.name, func(t *testing.T) {
			whole := tone(t, kind.encoder, 1, 48000, 1)
			for range rounds {
				broken := bytes.Clone(whole)
				for range 1 + random.IntN(30) {
					broken[random.IntN(len(broken))] = byte(random.Uint32())
				}
				requireHarmless(t, broken)
				head := bytes.Clone(whole)
				head[random.IntN(min(len(head), 200))] ^= 1 << random.IntN(8)
				requireHarmless(t, head)
			}
		})
	}
}

// wave returns a WAV file with the given header.
func wave(channels uint16, sampleRate, size uint32, samples []byte) []byte {
	le := binary.LittleEndian
	file := le.AppendUint32([]byte("RIFF"), size)
	file = le.AppendUint32(append(file, "WAVEfmt "...), 16)
	file = le.AppendUint16(le.AppendUint16(file, 1), channels)
	file = le.AppendUint32(le.AppendUint32(file, sampleRate), sampleRate*2*uint32(channels))
	file = le.AppendUint16(le.AppendUint16(file, 2*channels), 16)
	return append(le.AppendUint32(append(file, "data"...), size), samples...)
}

// Both occur in practice, because a stream's length is unknown when its header is written.
func TestLengthsOfNothingAndOfAlmostEverything(t *testing.T) {
	second := make([]byte, 2*rate)
	for _, size := range []uint32{0, 0xFFFFFFFF, 0x7FFFFFFF} {
		decoded, unusable := requireHarmless(t, wave(1, rate, size, second))
		require.Nil(t, unusable, "%d", size)
		require.EqualValues(t, rate, decoded.Samples, "%d", size)
	}
}

func TestAbsurdHeaders(t *testing.T) {
	second := make([]byte, 2*rate)
	for name, file := range map[string][]byte{
		"100 channels":   wave(100, rate, uint32(len(second)), second),
		"65535 channels": wave(65535, rate, uint32(len(second)), second),
		"9 channels":     wave(9, rate, uint32(len(second)), second),
		"no channels":    wave(0, rate, uint32(len(second)), second),
		"0 Hz":           wave(1, 0, uint32(len(second)), second),
		"1 Hz":           wave(1, 1, uint32(len(second)), second),
		"192001 Hz":      wave(1, 192001, uint32(len(second)), second),
		"4 GHz":          wave(1, 0xFFFFFFFF, uint32(len(second)), second),
		"nothing inside": wave(1, rate, 0, nil),
	} {
		t.Run(name, func(t *testing.T) {
			_, unusable := requireHarmless(t, file)
			require.NotNil(t, unusable)
			require.Equal(t, audio.Broken, unusable.Fault)
		})
	}
}

// Only supported containers reach libav, because its playlists and scripts can open other files and addresses.
func TestFilesThatAreNoAudio(t *testing.T) {
	secret := t.TempDir() + "/secret.wav"
	require.NoError(t, os.WriteFile(secret, wave(1, rate, 2*rate, make([]byte, 2*rate)), 0o600))
	for name, file := range map[string]string{
		"nothing":        "",
		"a byte":         "R",
		"zeros":          strings.Repeat("\x00", 4096),
		"text":           "The quick brown fox jumps over the lazy dog.",
		"m3u8":           "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://" + secret + "\n#EXT-X-ENDLIST\n",
		"ffconcat":       "ffconcat version 1.0\nfile '" + secret + "'\n",
		"concat":         "concat:" + secret,
		"sdp":            "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=audio 4000 RTP/AVP 0\n",
		"an image":       "GIF89a\x01\x00\x01\x00\x80\x00\x00",
		"an archive":     "PK\x03\x04" + strings.Repeat("x", 100),
		"a program":      "\x7fELF" + strings.Repeat("\x00", 100),
		"avi":            "RIFF\x00\x10\x00\x00AVI LIST",
		"dash":           `<?xml version="1.0"?><MPD><BaseURL>file://` + secret + `</BaseURL></MPD>`,
		"an mp2":         "\xFF\xFD\x80\x04",
		"amr":            "#!AMR\n",
		"au":             ".snd\x00\x00\x00\x18",
		"ape":            "MAC \x96\x0f",
		"a flac of text": "FLAC" + strings.Repeat("x", 100),
	} {
		t.Run(name, func(t *testing.T) {
			_, unusable := requireHarmless(t, []byte(file))
			require.NotNil(t, unusable)
			require.Equal(t, audio.NotAudio, unusable.Fault)
		})
	}
}

func TestFilesThatAreTwoThings(t *testing.T) {
	playlist := []byte("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n")
	mp3 := tone(t, libavtest.Kind{Muxer: "mp3", Codec: "libmp3lame"}, 1, 48000, 1)
	for name, file := range map[string][]byte{
		"a playlist in a wav":      wave(1, rate, uint32(len(playlist)), playlist),
		"a playlist behind a wav":  append(wave(1, rate, 2*rate, make([]byte, 2*rate)), playlist...),
		"a playlist before an mp3": append(bytes.Clone(playlist), mp3...),
		"an archive behind an mp3": append(bytes.Clone(mp3), "PK\x05\x06"...),
		"a wav of an mp3":          append([]byte("RIFF\xff\xff\xff\xffWAVE"), mp3...),
		"an ogg of an mp3":         append([]byte("OggS"), mp3...),
		"an mp4 of an mp3":         append([]byte("\x00\x00\x00\x10ftypM4A \x00\x00\x00\x00"), mp3...),
		"a webm of an mp3":         append([]byte("\x1A\x45\xDF\xA3\x84"), mp3...),
		"a tag of text in an mp3": append(append([]byte("ID3\x04\x00\x00\x00\x00\x00\x20TXXX\x00\x00\x00\x16\x00\x00"),
			make([]byte, 22)...), mp3...),
	} {
		t.Run(name, func(t *testing.T) { requireHarmless(t, file) })
	}
}

// Small files that become long or large when they are decoded.
func TestBombs(t *testing.T) {
	silence := make([]float32, 8000*600)
	packed := []libavtest.Kind{
		{Muxer: "flac", Codec: "flac"}, {Muxer: "wav", Codec: "pcm_mulaw"}, {Muxer: "opus", Codec: "libopus"},
		{Muxer: "adts", Codec: "aac"},
	}
	if testing.Short() {
		packed = packed[:2] // the others take long to encode
	}
	for _, kind := range packed {
		t.Run("ten minutes of "+kind.Codec, func(t *testing.T) {
			file, err := libavtest.Encode(kind, silence, 8000, 1)
			require.NoError(t, err)
			_, unusable := requireHarmless(t, file)
			require.NotNil(t, unusable)
			require.Equal(t, audio.TooLong, unusable.Fault)
		})
	}
	mp3 := tone(t, libavtest.Kind{Muxer: "mp3", Codec: "libmp3lame"}, 1, 48000, 1)
	for name, file := range map[string][]byte{
		"a tag of 256 MiB": append([]byte("ID3\x04\x00\x00\x7f\x7f\x7f\x7fAPIC\x7f\x7f\x7f\x70\x00\x00"),
			mp3...),
		"a compressed frame of 256 " +
			"MiB": append([]byte("ID3\x04\x00\x00\x00\x00\x7f\x7fTXXX\x00\x00\x00\x20\x00\x09\x7f\x7f\x7f\x7f\x78\x9c"), mp3...),
		"a wav with a format of 2 GiB": []byte("RIFF\xff\xff\xff\xffWAVEfmt \xff\xff\xff\x7f\x01\x00\x01\x00"),
		"an mp4 with an index of 4 GiB": []byte("\x00\x00\x00\x10ftypM4A " +
			"\x00\x00\x00\x00\xff\xff\xff\xf0moov\xff\xff\xff\xe0trak\xff\xff\xff\xd0stsz" +
			"\x00\x00\x00\x00\x00\x00\x00\x00\x0f\xff\xff\xff"),
		"a webm with an element of 2^56": []byte(
			"\x1A\x45\xDF\xA3\x01\xff\xff\xff\xff\xff\xff\xfe\x42\x82\x10\xff\xff\xff\xff"),
		"a flac with a picture of 16 MiB": []byte("fLaC\x06\xff\xff\xff\x00\x00\x00\x03\x7f\xff\xff\xff"),
		"an ogg page of nothing, repeatedly": bytes.Repeat(
			[]byte("OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), 30000),
		"mp4 boxes in boxes": boxes(5000),
	} {
		t.Run(name, func(t *testing.T) { requireHarmless(t, file) })
	}
}

// boxes returns an MP4 of nested boxes.
func boxes(depth int) []byte {
	file := []byte("\x00\x00\x00\x10ftypM4A \x00\x00\x00\x00")
	for i := depth; i > 0; i-- {
		file = append(binary.BigEndian.AppendUint32(file, uint32(8*i)), "moov"...)
	}
	return file
}

// FuzzDecode changes files and checks that each is decoded or refused by its own fault.
func FuzzDecode(f *testing.F) {
	for _, kind := range kinds() {
		f.Add(tone(f, kind.encoder, 0.1, 48000, 1))
	}
	f.Fuzz(func(t *testing.T, file []byte) { requireHarmless(t, file) })
}
