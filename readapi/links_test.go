package readapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLinks(t *testing.T) {
	links := Links{Base: "https://recital.example", Key: []byte("one")}
	address := links.ClipAudio("ignored", "c1")
	require.Regexp(t, `^https://recital\.example/v1/account/clip/c1/audio\?sig=[0-9A-Za-z_-]{22}$`, address)
	signature := address[len(address)-22:]
	require.True(t, links.signed(clipAudio, "c1", signature))
	for clip, forged := range map[string]string{"c2": signature, "c1": signature[:21], "c": "1" + signature} {
		require.False(t, links.signed(clipAudio, clip, forged))
	}
	require.False(t, links.signed(clipAudio, "c1", ""))
	require.False(t, Links{Key: []byte("two")}.signed(clipAudio, "c1", signature))
	require.False(t, links.signed(timestamps, "c1", signature), "a link leads to one thing")
	require.Regexp(t, `^https://recital\.example/v1/ai/speech/timestamps/t1\?sig=[0-9A-Za-z_-]{22}$`, links.Timestamps("ignored", "t1"))
	require.True(t, strings.HasPrefix(Links{}.ClipAudio("127.0.0.1:8080", "c1"), "http://127.0.0.1:8080/v1/"))
}
