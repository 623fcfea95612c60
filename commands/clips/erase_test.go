package clips_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

func TestTheClipsOfAClosedAccountAreErased(t *testing.T) {
	a := newArchive(t)
	account, other := a.Open("indie"), a.Open("indie")
	kept := a.save(other, sound)
	var ids []string
	for range 5 {
		ids = append(ids, a.save(account, sound))
	}
	a.Must(a.clips.Delete(t.Context(), ids[1], account, commandstest.Operator())) // a list may be out of date

	cause := uuid.New()
	for round, deleted := range []int{4, 0} {
		erased, err := a.clips.Erase(t.Context(), account, cause, append(ids, kept))
		require.NoError(t, err)
		require.Equal(t, deleted, erased.Deleted, round)
		require.Equal(t, []blobs.Address{blobs.Address(a.saved(kept).Blob)}, a.Kept(), "another account's stays")
		for _, id := range ids {
			require.Len(t, commandstest.Fold[clip.Event](a.World, clip.Stream(id)), 2, "deleted once")
		}
	}
}
