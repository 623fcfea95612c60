package clips

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

func TestTheClipsThatAnAccountOwns(t *testing.T) {
	s := newWorld(t)
	ids := []string{s.save("a1", "one"), s.save("a1", "two"), s.save("a1", "three")}
	s.save("a2", "of another")
	owned := Owned{Models: s.Projector}
	for limit, want := range map[int][]string{2: ids[:2], 3: ids, 4: ids} {
		got, err := owned.First(t.Context(), "a1", limit)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for of, want := range map[string]int64{"a1": 3, "a2": 1, "a3": 0} {
		count, err := owned.Count(t.Context(), of)
		require.NoError(t, err)
		require.Equal(t, want, count)
	}

	// when accounts close, then their clips are due for deletion
	erasures := Erasures{Pool: s.Pool}
	for closed, want := range map[string]int64{"a1": 3, "a3": 3} {
		s.Write(s.t, account.Stream(closed), account.Closed{Account: closed, At: noon})
		if closed == "a1" {
			count, err := erasures.Clips(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, count)
		}
	}
}

func TestBlobsOfClipsAreShown(t *testing.T) {
	s := newWorld(t)
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
