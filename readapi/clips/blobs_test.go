package clips

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

func TestBlobsOfClipsAreShown(t *testing.T) {
	s := newShelf(t)
	first, second := s.blobOf(s.save("a1", "one")), s.blobOf(s.save("a2", "two"))
	reader := Blobs{Pool: s.Pool}

	shown, err := reader.Shown(t.Context(), []blobs.Address{first, "audio/nobody/0"})
	require.NoError(t, err)
	require.Equal(t, map[blobs.Address]bool{first: true}, shown)
	shown, err = reader.Shown(t.Context(), []blobs.Address{first, second})
	require.NoError(t, err)
	require.Len(t, shown, 2)
	shown, err = reader.Shown(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, shown)
}
