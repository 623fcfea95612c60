package clips

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
)

// Whoever can write to the store has nothing else played: whether audio is sealed is in the log.
func TestAForgedBlobIsNotPlayed(t *testing.T) {
	s := newShelf(t)
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
	for name, forged := range map[string]string{"in clear": "what was never said", "another clip": string(swapped), "another account": string(strange), "empty": ""} {
		_, err := s.store.Put(t.Context(), address, strings.NewReader(forged))
		require.NoError(t, err)
		for _, part := range []string{"bytes=0-", "bytes=3-4"} {
			response, body := s.answer(http.MethodGet, link, "", "Range", part)
			require.GreaterOrEqual(t, response.StatusCode, 400, name)
			require.NotContains(t, body, "never said")
			require.NotContains(t, body, "0123456789")
		}
	}
}

// link returns where a clip is played.
func (s *shelf) link(id string) string {
	address := links.New("", []byte("secret")).ClipAudio("", id)
	return s.url + address[strings.Index(address, "/v1/"):]
}

func TestAClipOfAnEarlierReleaseIsPlayedBeforeAndAfterItIsSealed(t *testing.T) {
	s := newShelf(t)
	s.inClear = true
	id := s.save("a1", "old")
	former := s.blobOf(id)
	unsealed := Unsealed{Models: s.Projector}
	listed, err := unsealed.After(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []UnsealedRow{{Clip: id, Account: "a1", Blob: former}}, listed)
	play := func() {
		t.Helper()
		response, body := s.answer(http.MethodGet, s.link(id), "")
		require.Equal(t, http.StatusOK, response.StatusCode, body)
		require.Equal(t, clipSound, body)
	}
	play()

	s.inClear = false
	blob := s.put("a1", blobs.NewAddress(blobs.Owner(clip.Stream(id))))
	s.Append(t, clip.Stream(id), 0, clip.AudioSealed{Clip: id, Account: "a1", From: string(former), To: string(blob.Address), Bytes: blob.Size, At: noon})
	require.Equal(t, blob.Address, s.blobOf(id))
	require.NoError(t, s.store.Delete(t.Context(), former))
	play()
	left, err := unsealed.Count(t.Context())
	require.NoError(t, err)
	require.Zero(t, left)

	// and from then on it ends with its key
	require.NoError(t, s.keys.Erase(t.Context(), "a1"))
	response, _ := s.answer(http.MethodGet, s.link(id), "")
	require.Equal(t, http.StatusNotFound, response.StatusCode)
}

// moved is a store from which a blob is gone when it is first opened: its clip was sealed a moment ago.
type moved struct {
	blobs.Store
	first func()
}

func (m *moved) Open(ctx context.Context, address blobs.Address, offset, length int64) (io.ReadCloser, error) {
	if m.first != nil {
		m.first()
		m.first = nil
	}
	return m.Store.Open(ctx, address, offset, length)
}

func TestAClipIsPlayedWhileItIsSealed(t *testing.T) {
	s := newShelf(t)
	s.inClear = true
	id := s.save("a1", "old")
	former := s.blobOf(id)
	s.inClear = false
	store := &moved{Store: s.store, first: func() {
		blob := s.put("a1", blobs.NewAddress(blobs.Owner(clip.Stream(id))))
		s.Append(t, clip.Stream(id), 0, clip.AudioSealed{Clip: id, Account: "a1", From: string(former), To: string(blob.Address), Bytes: blob.Size, At: noon})
		require.NoError(t, s.store.Delete(t.Context(), former))
	}}
	s.url = s.serveWith(links.New("", []byte("secret")), API{Blobs: store, Sealed: sealed.New(store, s.keys)})
	response, body := s.answer(http.MethodGet, s.link(id), "")
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.Equal(t, clipSound, body)
	require.Nil(t, store.first)
}
