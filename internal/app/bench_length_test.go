package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkCostPerCharacter measures the time for a character, from the request to the end of the audio, by the length
// of the text, compared with worker and encoder alone. It should be constant: the last figures compare the longest text
// with one of 500 characters.
func BenchmarkCostPerCharacter(b *testing.B) {
	s := openSpeaker(b)
	conn := dial(b, s.app.PublicAddr())
	lengths := []int{20, 100, 500, 2000, 5000}
	ours, its := make([]times, len(lengths)), make([]times, len(lengths))
	for b.Loop() {
		for i, length := range lengths {
			text := story(length)
			request := s.order(text, mp3())
			for range max(1, 1000/length) {
				begun := time.Now()
				_, err := conn.ask(request)
				require.NoError(b, err)
				ours[i].add(time.Since(begun))

				begun = time.Now()
				_, _, err = s.bare.speak(b.Context(), text, mp3())
				require.NoError(b, err)
				its[i].add(time.Since(begun))
			}
		}
	}
	perCharacter := func(taken *times, length int) float64 {
		return float64(taken.quantile(0.50).Microseconds()) / float64(length)
	}
	for i, length := range lengths {
		benchtest.Compare(b, fmt.Sprintf("%d-µs/char", length), perCharacter(&ours[i], length),
			perCharacter(&its[i], length))
	}
	const middle, longest = 2, 4
	growth := func(taken []times) float64 {
		return perCharacter(&taken[longest], lengths[longest]) / perCharacter(&taken[middle], lengths[middle])
	}
	benchtest.Compare(b, "5000-to-500", growth(ours), growth(its))
	benchtest.Finish(b)
}

// story returns an English ASCII text with the given number of characters.
func story(characters int) string {
	const passage = "The little boat left the harbour before the sun was up. Nobody saw it go, and nobody heard the " +
		"oars in the fog. "
	return strings.Repeat(passage, characters/len(passage)+1)[:characters-1] + "."
}
