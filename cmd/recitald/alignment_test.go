package main_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

const (
	kannaRoute    = "/v1/ai/speech/kanna"
	improvedRoute = "/v1/ai/speech/kanna_improved"
)

// foundWord is a word of the reply.
type foundWord struct {
	Text                        string
	Start, Duration, Confidence float64
	Phonemes                    []struct {
		Phoneme         string
		Start, Duration float64
	}
}

// kanna posts a recording to one of the two routes without a credential. It retries, because the service aligns one
// recording per address at a time and all tests have the same address.
func (s *server) kanna(t *testing.T, route, text string, recording []byte) (answer reply) {
	t.Helper()
	require.Eventually(t, func() bool {
		answer = s.kannaOnce(t, route, text, recording)
		return answer.status != http.StatusTooManyRequests
	}, patience, pause)
	return answer
}

func (s *server) kannaOnce(t *testing.T, route, text string, recording []byte) reply {
	t.Helper()
	if route == kannaRoute {
		return s.sendOpen(t, route+"?text="+url.QueryEscape(text), "application/octet-stream", bytes.NewReader(recording))
	}
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	require.NoError(t, parts.WriteField("text", text))
	file, err := parts.CreateFormFile("audio", "recording")
	require.NoError(t, err)
	_, err = file.Write(recording)
	require.NoError(t, err)
	require.NoError(t, parts.Close())
	return s.sendOpen(t, route, parts.FormDataContentType(), &form)
}

func (s *server) sendOpen(t *testing.T, path, contentType string, body io.Reader) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.address+path, body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", contentType)
	return do(t, request)
}

func TestWordsAreFoundInARecording(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := share(t)
	c := s.openAccount("free")
	const text = "The old fisherman lived by the sea, and nobody knew his name."

	// given recordings of another engine in several formats, with known word times
	order := order{"text": text, "voice": "zeke", "model": "blizzard", "return_timestamps": true}
	truth := c.times(t, order)
	for _, format := range []string{"wav", "mp3", "aac", "webm"} {
		order["format"] = format
		recording := requireOK(t, c.post(t, bytesRoute, order))
		for _, route := range []string{kannaRoute, improvedRoute} {
			answer := s.kanna(t, route, text, recording.body)
			require.Equal(t, 200, answer.status, "%s %s: %s", format, route, answer.text())
			var words []foundWord
			answer.decode(t, &words)

			// then every word is found, and most times are right
			require.Len(t, words, len(truth), "%v", words)
			near := 0
			for i, word := range words {
				require.Equal(t, truth[i].Text, word.Text)
				require.InDelta(t, 0.5, word.Confidence, 0.5)
				requirePhonemes(t, word, route == improvedRoute)
				if d := word.Start - truth[i].Start; d > -0.1 && d < 0.1 {
					near++
				}
			}
			require.GreaterOrEqual(t, near, len(words)-2, "%s %s: %v, %v", format, route, words, truth)
		}
	}
}

// times returns the words of a synthesis with their times.
func (c customer) times(t *testing.T, of order) (words []foundWord) {
	t.Helper()
	answer := requireOK(t, c.post(t, detailedRoute, of))
	var detailed struct{ Durations []foundWord }
	answer.decode(t, &detailed)
	for _, element := range detailed.Durations {
		if strings.ContainsAny(strings.ToLower(element.Text), "abcdefghijklmnopqrstuvwxyz") {
			words = append(words, element)
		}
	}
	require.NotEmpty(t, words)
	return words
}

func TestWhatCannotBeAlignedIsExplained(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := share(t)
	c := s.openAccount("free")
	recording := c.post(t, bytesRoute, order{"text": "Hello.", "voice": "leah", "format": "wav"}).body
	silence := append(bytes.Clone(recording[:44]), make([]byte, 32000)...)
	for _, bad := range []struct {
		name, text string
		recording  []byte
		message    string
		field      string // of kanna_improved
	}{
		{"no audio", "Hello.", []byte("Hello."), "The file is not audio in a supported format", "audio"},
		{"a playlist", "Hello.", []byte("#EXTM3U\nfile:///etc/passwd\n"), "The file is not audio in a supported format",
			"audio"},
		{"a damaged file", "Hello.", recording[:20], "The file is damaged and cannot be decoded", "audio"},
		{"silence", "Hello.", silence, "The recording holds no speech", "audio"},
		{"a text without words", "...", recording, "The text has no words that can be spoken", "text"},
		{"no text", "", recording, "text", "text"},
		{"a text too long", strings.Repeat("a", 10001), recording, "String should have at most 10000 characters", "text"},
	} {
		for _, route := range []string{kannaRoute, improvedRoute} {
			answer := s.kanna(t, route, bad.text, bad.recording)
			if route == kannaRoute && len(bad.text) > 4000 && answer.status == http.StatusRequestHeaderFieldsTooLarge {
				continue
			}
			require.Equal(t, 422, answer.status, "%s: %s", bad.name, answer.text())
			require.Contains(t, answer.text(), bad.message, bad.name)
			if route == improvedRoute {
				require.Contains(t, answer.text(), fmt.Sprintf(`"body","%s"`, bad.field), bad.name)
			}
		}
	}
	for _, route := range []string{kannaRoute, improvedRoute} {
		require.Equal(t, 413, s.kanna(t, route, "Hello.", make([]byte, 20<<20+1000)).status)
	}

	// and nothing was recorded or billed
	require.EqualValues(t, len("Hello."), c.usage(t))
}

// requirePhonemes checks that the phonemes cover the word without gaps.
func requirePhonemes(t *testing.T, word foundWord, wanted bool) {
	t.Helper()
	if !wanted {
		require.Empty(t, word.Phonemes)
		return
	}
	require.NotEmpty(t, word.Phonemes, word.Text)
	at := word.Start
	for _, p := range word.Phonemes {
		require.NotEmpty(t, p.Phoneme)
		require.InDelta(t, at, p.Start, 0.002, "%v", word)
		at = p.Start + p.Duration
	}
	require.InDelta(t, word.Start+word.Duration, at, 0.002, "%v", word)
}
