package clips_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

// shown is a read model that shows a list of blobs.
func shown(addresses ...blobs.Address) clips.ShownBlobs {
	return func(_ context.Context, _ []blobs.Address) (map[blobs.Address]bool, error) {
		known := map[blobs.Address]bool{}
		for _, address := range addresses {
			known[address] = true
		}
		return known, nil
	}
}

func TestTheSweepRemovesWhatNoClipRefersTo(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	put := func(owner, content string) blobs.Address {
		t.Helper()
		blob, err := a.Store.Put(t.Context(), blobs.NewAddress(blobs.Owner(owner)), strings.NewReader(content),
			int64(len(content)))
		require.NoError(t, err)
		return blob.Address
	}
	// given a clip, another one that the read model does not show yet, and a deleted one with its audio
	id, unseen, gone := a.save(account, "one"), a.save(account, "two"), a.save(account, sound)
	a.Must(a.clips.Delete(t.Context(), gone, account, commandstest.Operator()))
	left := put(clip.Stream(gone), sound)
	// and audio of a clip that a crash has prevented, another audio of a clip, and a blob of no clip
	orphan := put(clip.Stream(strings.Repeat("1", 32)), "orphan")
	other := put(clip.Stream(id), "not what the event says")
	voice := put("voice-0123456789", "a voice")
	good, hidden := blobs.Address(a.saved(id).Blob), blobs.Address(a.saved(unseen).Blob)

	// when it is swept while a reply could still be in progress, then all of it stays
	removed, err := a.clips.Sweep(t.Context(), shown(good))
	require.NoError(t, err)
	require.Zero(t, removed)
	require.Len(t, a.Kept(), 6)

	// when it is swept later, then only unreferenced audio is removed
	a.late = 2 * time.Hour
	removed, err = a.clips.Sweep(t.Context(), shown(good))
	require.NoError(t, err)
	require.Equal(t, 3, removed)
	require.ElementsMatch(t, []blobs.Address{good, hidden, voice}, a.Kept())
	require.NotContains(t, a.Kept(), left)
	require.NotContains(t, a.Kept(), orphan)
	require.NotContains(t, a.Kept(), other)

	// and an empty read model, during a rebuild, loses no clip
	removed, err = a.clips.Sweep(t.Context(), shown())
	require.NoError(t, err)
	require.Zero(t, removed)
	require.Len(t, a.Kept(), 3)
}

func TestASweepThatCannotAskRemovesNothing(t *testing.T) {
	a := newArchive(t)
	_, err := a.Store.Put(t.Context(), blobs.NewAddress(blobs.Owner(clip.Stream(strings.Repeat("1", 32)))),
		strings.NewReader("orphan"), int64(len("orphan")))
	require.NoError(t, err)
	a.late = 2 * time.Hour
	away := errors.New("the read models do not answer")
	_, err = a.clips.Sweep(t.Context(), func(context.Context, []blobs.Address) (map[blobs.Address]bool,
		error) {
		return nil, away
	})
	require.ErrorIs(t, err, away)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = a.clips.Sweep(ctx, shown())
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, a.Kept(), 1)
}
