package clips_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

func TestDeletingAClip(t *testing.T) {
	a := newArchive(t)
	account, other := a.Open("indie"), a.Open("indie")
	id, kept := a.save(account, sound), a.save(account, sound)
	require.NotEqual(t, a.saved(id).Blob, a.saved(kept).Blob, "the same audio twice is two clips")
	for name, c := range map[string][2]string{
		"another account's": {id, other}, "unknown": {strings.Repeat("0", 32), account}, "empty": {"", account},
		"a path": {"../" + id, account}, "a stream": {"clip-" + id, account}, "another stream": {"x\n" + id, account},
	} {
		_, err := a.clips.Delete(t.Context(), c[0], c[1], commandstest.Operator())
		require.Equal(t, domain.NotFound, domain.CodeOf(err), name)
	}
	require.Len(t, a.Kept(), 2)

	position, err := a.clips.Delete(t.Context(), id, account, commandstest.Operator())
	require.NoError(t, err)
	require.Equal(t, a.Last(clip.Stream(id)).Position, position)
	require.Equal(t, []blobs.Address{blobs.Address(a.saved(kept).Blob)}, a.Kept())
	require.Equal(t, sound, a.Read(account, a.saved(kept).Blob))
	_, err = a.clips.Delete(t.Context(), id, account, commandstest.Operator())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}

func TestAClipIsDeletedOnceByManyAtOnce(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	id := a.save(account, sound)
	outcomes := make(chan error, 8)
	for range cap(outcomes) {
		go func() {
			_, err := a.clips.Delete(t.Context(), id, account, commandstest.Operator())
			outcomes <- err
		}()
	}
	deleted := 0
	for range cap(outcomes) {
		if err := <-outcomes; err == nil {
			deleted++
		} else {
			require.Equal(t, domain.NotFound, domain.CodeOf(err))
		}
	}
	require.Equal(t, 1, deleted)
	require.Len(t, commandstest.Fold[clip.Event](a.World, clip.Stream(id)), 2)
	require.NotContains(t, a.Logged.String(), "left for the sweep")
}
