package clips

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/links"
)

// Audio that was not encrypted for its clip and account is never played, even if an attacker can write to the store.
func TestAForgedBlobIsNotPlayed(t *testing.T) {
	s := newWorld(t)
	id, other := s.save("a1", "one"), s.save("a1", "two")
	foreign := s.save("a2", "three")
	address := s.blobOf(id)
	reader, err := s.store.Open(t.Context(), s.blobOf(other), 0, 1<<20)
	require.NoError(t, err)
	swapped, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	reader, err = s.store.Open(t.Context(), s.blobOf(foreign), 0, 1<<20)
	require.NoError(t, err)
	strange, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	link := s.link(id)
	for name, forged := range map[string]string{"in clear": "what was never said", "another clip": string(swapped),
		"another account": string(strange), "empty": ""} {
		_, err := s.store.Put(t.Context(), address, strings.NewReader(forged), int64(len(forged)))
		require.NoError(t, err)
		for _, part := range []string{"bytes=0-", "bytes=3-4"} {
			response, body := s.answer(http.MethodGet, link, "", "Range", part)
			require.GreaterOrEqual(t, response.StatusCode, 400, name)
			require.NotContains(t, body, "never said")
			require.NotContains(t, body, "0123456789")
		}
	}
}

// link returns the address of a clip's audio.
func (s *world) link(id string) string {
	address := links.New("", []byte("secret")).ClipAudio("", id)
	return s.url + address[strings.Index(address, "/v1/"):]
}
