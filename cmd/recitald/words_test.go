package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/libav/libavtest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestWordTimesFitTheAudio(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := share(t)
	c := s.openAccount("indie")
	for name, text := range map[string]string{
		"two words":         "Hello world.",
		"one letter":        "a",
		"space around":      "  Hello,\n\tworld!  ",
		"several sentences": prose(900),
		"numbers, symbols":  "On 3.5.2024 we paid $1,200.50 (50% less) — “great”, said O’Neil & co. 👍🏽",
		"other scripts":     "Привет мир. こんにちは。 مرحبا",
		"no words":          "…",
	} {
		for _, format := range []audio.Format{audio.WAV, audio.MP3} {
			t.Run(name+" as "+string(format), func(t *testing.T) {
				// when a text is synthesised with its times
				answer := requireOK(t, c.post(t, detailedRoute, order{"text": text, "voice": "leah", "format": format,
					"return_timestamps": true}))
				var r recording
				answer.decode(t, &r)
				decoded, err := libavtest.Decode(format, r.sound(t))
				require.NoError(t, err)

				// then they cover the text, increase, and end with the audio
				require.Equal(t, r.Timestamps, r.Durations, "both fields have the same times")
				requireTimes(t, text, r.Timestamps)
				last := r.Timestamps[len(r.Timestamps)-1]
				padding := map[audio.Format]float64{audio.WAV: 0.001, audio.MP3: 0.1}[format] // MP3 comes in whole frames
				require.InDelta(t, last.Start+last.Duration, decoded.Seconds(), padding, "seconds")
			})
		}
	}
}

// requireTimes checks that the concatenated words are the input, and that no word begins before the previous one ends.
func requireTimes(t *testing.T, text string, words []word) {
	t.Helper()
	require.GreaterOrEqual(t, len(words), 2)
	require.Empty(t, words[0].Text)
	require.Empty(t, words[len(words)-1].Text)
	const rounding = 0.0015 // the times are in whole milliseconds
	joined, at := "", 0.0
	for _, w := range words {
		require.GreaterOrEqual(t, w.Start, at-rounding, "%q", w.Text)
		require.GreaterOrEqual(t, w.Duration, 0.0, "%q", w.Text)
		joined, at = joined+w.Text, w.Start+w.Duration
	}
	require.Equal(t, text, joined)
}
