package clips_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/blobs"
)

func TestTheClipsOfAClosedAccountAreErased(t *testing.T) {
	a := newArchive(t)
	account, other := a.Open("indie"), a.Open("indie")
	kept := a.save(other, sound)
	var ids []string
	for range 5 {
		ids = append(ids, a.save(account, sound))
	}
	slices.Sort(ids)
	_, err := a.clips.Delete(t.Context(), ids[1], account, commandstest.Operator()) // a list may be out of date
	require.NoError(t, err)
	inPairs := func(_ context.Context, of, after string) ([]string, error) {
		require.Equal(t, account, of)
		i, found := slices.BinarySearch(ids, after)
		if found {
			i++
		}
		return ids[i:min(i+2, len(ids))], nil
	}
	for range 2 {
		require.NoError(t, a.clips.EraseAll(t.Context(), account, inPairs))
		require.Equal(t, []blobs.Address{blobs.Address(a.saved(kept).Blob)}, a.blobs())
		for _, id := range ids {
			require.Len(t, commandstest.Fold[clip.Event](a.World, clip.Stream(id)), 2, "deleted once")
		}
	}
}
