package links_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/links"
)

func TestLinks(t *testing.T) {
	made := links.New("https://recital.example", []byte("one"))
	address := made.ClipAudio("ignored", "c1")
	require.Regexp(t, `^https://recital\.example/v1/account/clip/c1/audio\?sig=[0-9A-Za-z_-]{22}$`, address)
	signature := address[len(address)-22:]
	require.True(t, made.Verify(links.ClipAudio, "c1", signature))
	for clip, forged := range map[string]string{"c2": signature, "c1": signature[:21], "c": "1" + signature} {
		require.False(t, made.Verify(links.ClipAudio, clip, forged))
	}
	require.False(t, made.Verify(links.ClipAudio, "c1", ""))
	require.False(t, links.New("", []byte("two")).Verify(links.ClipAudio, "c1", signature))
	require.False(t, made.Verify(links.WordTimes, "c1", signature), "a link is valid for one kind of resource")
	require.Regexp(t, `^https://recital\.example/v1/ai/speech/timestamps/t1\?sig=[0-9A-Za-z_-]{22}$`,
		made.WordTimes("ignored", "t1"))
	require.True(t, strings.HasPrefix(links.New("", nil).ClipAudio("127.0.0.1:8080", "c1"), "http://127.0.0.1:8080/v1/"))
}

// URLs that were issued work in every later release.
func TestLinksStayValid(t *testing.T) {
	made := links.New("", []byte("one"))
	require.True(t, made.Verify(links.ClipAudio, "c1", "61I-tcgWqP_MgP52byDAtg"))
	require.True(t, made.Verify(links.WordTimes, "t1", "6mBgteki0WidFhqOhsl6zQ"))
}

func TestTheBase(t *testing.T) {
	made := links.New("https://recital.example/", nil)
	require.Equal(t, "https://recital.example", made.Base())
	require.Equal(t, "https://recital.example/v1/ai/voice/leah/preview", made.VoicePreview("other", "leah"))
	require.Empty(t, links.New("", nil).Base())
}
