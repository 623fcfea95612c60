package audio_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
)

// encodeULaw returns only the codes.
func encodeULaw(t testing.TB, values ...int16) []byte {
	return encode(t, audio.ULaw, samples(values...))[58:]
}

// decodeULaw expands a code as in ITU-T G.711 table 2; the result has 16 bits.
func decodeULaw(code byte) int {
	code = ^code
	magnitude := ((int(code&0xF)<<1+33)<<(code>>4&7) - 33) << 2
	if code&0x80 != 0 {
		return -magnitude
	}
	return magnitude
}

// The decision values of ITU-T G.711 table 2a and 2b at the segments' ends, times four for 16 bits.
func TestULawDecisionValues(t *testing.T) {
	for _, c := range []struct {
		value int16
		code  byte
	}{
		{0, 0xFF}, {3, 0xFF}, {4, 0xFE},
		{4 * 31, 0xEF}, {4*31 - 1, 0xF0},
		{4 * 95, 0xDF}, {4*95 - 1, 0xE0},
		{4 * 223, 0xCF}, {4*223 - 1, 0xD0},
		{4 * 479, 0xBF}, {4*479 - 1, 0xC0},
		{4 * 991, 0xAF}, {4*991 - 1, 0xB0},
		{4 * 2015, 0x9F}, {4*2015 - 1, 0xA0},
		{4 * 4063, 0x8F}, {4*4063 - 1, 0x90},
		{32767, 0x80},
		{-1, 0x7F}, {-4*31 - 1, 0x6F}, {-4*4063 - 1, 0x0F}, {-32768, 0x00},
	} {
		require.Equal(t, []byte{c.code}, encodeULaw(t, c.value), "sample %d", c.value)
	}
}

func TestULawIsTheNearestCode(t *testing.T) {
	const clip = 4 * 8158 // the largest magnitude with its own code
	var values []int16
	for value := -32768; value <= 32767; value++ {
		values = append(values, int16(value))
	}
	for i, code := range encodeULaw(t, values...) {
		value := int(values[i])
		step := 8 << (^code >> 4 & 7)
		require.InDelta(t, max(-clip, min(clip, value)), decodeULaw(code), float64(step/2+3), "sample %d", value)
	}
}

func TestULawCodesSurviveARoundTrip(t *testing.T) {
	for code := range 256 {
		if code == 0x7F { // negative zero
			continue
		}
		value := int16(decodeULaw(byte(code)))
		require.Equal(t, []byte{byte(code)}, encodeULaw(t, value), "code %#x", code)
	}
}
