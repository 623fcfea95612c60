package main_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// A text that cannot be spoken gets a normal reply with silence and a warning, and is free.
func TestATextThatCannotBeSpokenIsFree(t *testing.T) {
	t.Parallel()
	s := share(t)
	c := s.openAccount("enterprise")
	const warning = "text: there is nothing in it that can be spoken"
	for _, text := range []string{"  \n ", "\u200b\u200d", "… — ?!"} {
		for _, route := range []string{bytesRoute, detailedRoute, "/speech/beta/synthesize"} {
			answer := requireOK(t, c.post(t, route, order{"text": text, "voice": "leah", "format": "wav"}))
			require.Equal(t, warning, answer.header.Get("x-warning"), "%q, %s", text, route)
			require.NotEmpty(t, answer.body)
		}
		answer := do(t, c.request("GET", "/v1/ai/speech?voice=leah&format=wav&text="+url.QueryEscape(text), nil))
		require.Equal(t, 200, answer.status, answer.text())
		require.Equal(t, warning, answer.header.Get("x-warning"))
	}
	require.Zero(t, c.usage(t))

	answer := c.post(t, bytesRoute, order{"text": "Hello.", "voice": "leah", "format": "wav"})
	require.Empty(t, answer.header.Get("x-warning"))
	require.EqualValues(t, len("Hello."), c.usage(t))
}

func TestALanguageWithoutAVoiceIsSpokenByItsNeighbourOrNamesIt(t *testing.T) {
	t.Parallel()
	c := share(t).openAccount("enterprise")
	speak := func(language string) reply {
		return c.post(t, bytesRoute, order{"text": "Bos días.", "voice": "leah", "format": "wav", "language": language})
	}
	answer := requireOK(t, speak("gl"))
	require.Equal(t, "language: Galician is spoken as Spanish", answer.header.Get("x-warning"))
	answer = speak("lo")
	require.Equal(t, 422, answer.status)
	require.Contains(t, answer.text(), "the nearest that it speaks is th")
}
