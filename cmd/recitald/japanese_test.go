package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// reader returns the process that reads Japanese.
func (s *server) reader() (process, bool) {
	s.t.Helper()
	for _, p := range s.children() {
		if filepath.Base(p.args[0]) == "japanesereader" {
			return p, true
		}
	}
	return process{}, false
}

// Kanji are read by their readings in context, and the words have times.
func TestJapaneseIsRead(t *testing.T) {
	t.Parallel()
	s := start(t, dataFolder(t))
	c := s.openAccount("free")
	require.Equal(t, 200, c.post(t, bytesRoute, order{"text": "Hello.", "voice": "leah"}).status)
	_, runs := s.reader()
	require.False(t, runs, "the reader runs before there is Japanese text")

	// when a text in kanji is synthesised with language detection
	const text, inKana = "東京は日本の首都です。", "トーキョー ワ ニホン ノ シュト デス。"
	words := c.timed(t, text, "auto")

	// then its words have the timing of the same text in kana
	require.Equal(t, text, joined(words))
	said := c.timed(t, inKana, "ja")
	require.InDeltaSlice(t, starts(t, said, "トワニノシデ"), starts(t, words, "東は日の首で"), 0.05)

	// and when the process is killed, then the next one reads the same
	first, runs := s.reader()
	require.True(t, runs)
	first.kill(t)
	require.Equal(t, words, c.timed(t, text, "ja"))
	require.Equal(t, 2, int(s.figure("recital_japanese_reader_starts_total")))
	require.Zero(t, s.figure("recital_japanese_texts_failed_total"))

	// and it dies with recitald
	second, runs := s.reader()
	require.True(t, runs)
	s.kill()
	s.eventually(func() bool { return !second.lives() })
}

// timed returns the words of a text with their times.
func (c customer) timed(t *testing.T, text, language string) []foundWord {
	t.Helper()
	answer := requireOK(t, c.post(t, detailedRoute,
		order{"text": text, "voice": "leah", "language": language, "return_timestamps": true}))
	var detailed struct{ Durations []foundWord }
	answer.decode(t, &detailed)
	return detailed.Durations
}

// starts returns the start times of the words that begin with the given letters, in this order.
func starts(t *testing.T, of []foundWord, letters string) (all []float64) {
	t.Helper()
	next := []rune(letters)
	for _, w := range of {
		if len(next) > 0 && strings.HasPrefix(w.Text, string(next[0])) {
			all, next = append(all, w.Start), next[1:]
		}
	}
	require.Empty(t, next)
	return all
}

func joined(words []foundWord) string {
	var all strings.Builder
	for _, w := range words {
		all.WriteString(w.Text)
	}
	return all.String()
}

// Without the reader Japanese is still served. The failure is counted and logged without the text.
func TestJapaneseIsSpokenWithoutItsReader(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	worker := filepath.Join(t.TempDir(), "speechworker")
	require.NoError(t, os.Symlink(recitaldBinary.Beside("speechworker").Path(), worker))
	s := start(t, dataFolder(t), "--speechworker="+worker)
	c := s.openAccount("free")
	const text = "東京へ行く。"
	require.Equal(t, text, joined(c.timed(t, text, "ja")))
	require.NotZero(t, s.figure("recital_japanese_texts_failed_total"))
	require.Contains(t, read(t, s.log), "japanesereader")
	require.NotContains(t, read(t, s.log), "東京")
}
