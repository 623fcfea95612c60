package loudness_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/loudness"
	"github.com/recital-tts/recital/internal/speech/loudness/loudnesstest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// tone returns a sine with an amplitude in decibels below full scale.
func tone(rate int, hertz, level, seconds float64) []byte {
	var pcm []byte
	for i := range int(seconds * float64(rate)) {
		sample := 32767 * math.Pow(10, level/20) * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate))
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(math.Round(sample))))
	}
	return pcm
}

// BS.1770-4, annex 1: a sine of 997 Hz at full scale in one channel is at -3.01 LKFS.
func TestATone(t *testing.T) {
	for _, rate := range []int{16000, 22050, 48000} {
		for _, level := range []float64{0, -20, -40} {
			require.InDelta(t, level-3.01, loudnesstest.Of(tone(rate, 997, level, 5), rate), 0.1, "%d Hz, %v dB", rate, level)
		}
	}
}

// EBU Tech 3341, cases 3 and 4, in one channel: relatively quiet parts do not count.
func TestWhatIsQuietDoesNotCount(t *testing.T) {
	const rate = 22050
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	quiet, loud := tone(rate, 997, -36, 10), tone(rate, 997, -23, 60)
	require.InDelta(t, -26.01, loudnesstest.Of(join(quiet, loud, quiet), rate), 0.1)
	silent := tone(rate, 997, -72, 10)
	require.InDelta(t, -26.01, loudnesstest.Of(join(silent, quiet, loud, quiet, silent), rate), 0.1)
}

func TestSilenceHasNoLoudness(t *testing.T) {
	require.Equal(t, math.Inf(-1), loudnesstest.Of(nil, 22050))
	require.Equal(t, math.Inf(-1), loudnesstest.Of(make([]byte, 100000), 22050))
	require.Equal(t, math.Inf(-1), loudnesstest.Of(tone(22050, 997, 0, 0.3), 22050), "too short")
}

func TestHowTheSamplesAreCutDoesNotMatter(t *testing.T) {
	sound := tone(22050, 300, -20, 3)
	m := loudness.NewMeter(22050)
	for rest := sound; len(rest) > 0; {
		n := min(1234, len(rest))
		m.Add(rest[:n])
		rest = rest[n:]
	}
	require.Equal(t, loudnesstest.Of(sound, 22050), m.Loudness())
}

// ffmpeg measures the same loudness, here of noise that comes and goes.
func TestFFmpegFindsTheSame(t *testing.T) {
	ffmpeg := bintest.Tool(t, "ffmpeg")
	const rate = 22050
	random := rand.New(rand.NewPCG(1, 2))
	var sound []byte
	low := 0.0
	for i := range 12 * rate {
		low += 0.2 * (random.NormFloat64() - low)
		sample := 6000 * low * math.Pow(math.Sin(float64(i)/rate), 2)
		sound = binary.LittleEndian.AppendUint16(sound, uint16(int16(sample)))
	}
	measure := exec.Command(ffmpeg, "-nostats", "-f", "s16le", "-ar", fmt.Sprint(rate), "-ac", "1", "-i", "-", "-af",
		"ebur128", "-f", "null", "-")
	measure.Stdin = bytes.NewReader(sound)
	said, err := measure.CombinedOutput()
	require.NoError(t, err, "%s", said)
	found := regexp.MustCompile(`Summary:\s+Integrated loudness:\s+I:\s+(-[0-9.]+) LUFS`).FindSubmatch(said)
	require.NotNil(t, found, "%s", said)
	want, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(t, err)
	require.InDelta(t, want, loudnesstest.Of(sound, rate), 0.15)
}
