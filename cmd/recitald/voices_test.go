package main_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/libav/libavtest"
)

func TestVoicesAreListedAndHeard(t *testing.T) {
	t.Parallel()
	s := share(t)
	c := s.openAccount("free")

	// when the voices are listed
	answer := requireOK(t, do(t, c.request(http.MethodGet, "/v1/ai/voice/list?starred=False&owner=all", nil)))
	var voices []struct {
		ID         string `json:"id"`
		PreviewURL string `json:"preview_url"`
	}
	answer.decode(t, &voices)
	require.Len(t, voices, 9)

	// then each has a preview that anyone with the URL can play, and sounds different
	heard := map[string]string{}
	for _, voice := range voices {
		preview := requireOK(t, fetch(t, http.MethodGet, voice.PreviewURL))
		require.Equal(t, "audio/mpeg", preview.header.Get("Content-Type"))
		decoded, err := libavtest.Decode(audio.MP3, preview.body)
		require.NoError(t, err)
		require.Greater(t, decoded.Seconds(), 2.0)
		require.Empty(t, heard[string(preview.body)], "%s sounds like another one", voice.ID)
		heard[string(preview.body)] = voice.ID

		tag := preview.header.Get("Etag")
		require.Equal(t, http.StatusNotModified, fetch(t, http.MethodGet, voice.PreviewURL, "If-None-Match", tag).status)
	}

	// and previews are free
	require.Zero(t, c.usage(t))
}
