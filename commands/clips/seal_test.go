package clips_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

// asBefore decides what releases before sealed audio did.
type asBefore struct{ clip.Saved }

func (s asBefore) Decide(clip.State) ([]clip.Event, error) { return []clip.Event{s.Saved}, nil }

// saveInClear saves a clip as releases before sealed audio did.
func (a *archive) saveInClear(account, sound string) clips.Unsealed {
	a.T.Helper()
	id := strings.ReplaceAll(uuid.NewString(), "-", "")
	blob, err := a.store.Put(a.T.Context(), blobs.NewAddress(blobs.Owner(clip.Stream(id))), strings.NewReader(sound))
	require.NoError(a.T, err)
	saved := asBefore{clip.Saved{Clip: id, Account: account, Blob: string(blob.Address), Bytes: blob.Size, MediaType: "audio/mpeg", Sealed: []byte{1}, At: time.Now()}}
	stream := journal.Stream[clip.State, clip.Event]{Name: clip.Stream(id), Evolve: clip.Evolve}
	_, _, err = journal.Execute(a.T.Context(), a.Journal, stream, saved, commandstest.Operator().Metadata(uuid.New(), time.Now()))
	require.NoError(a.T, err)
	return clips.Unsealed{Clip: id, Account: account, Blob: blob.Address}
}

// unsealedList is a read model that shows pages of two clips, and does not learn what happens to them.
type unsealedList struct {
	clips   []clips.Unsealed
	await   func() error
	awaited eventlog.Position
}

func list(all ...clips.Unsealed) *unsealedList {
	slices.SortFunc(all, func(a, b clips.Unsealed) int { return strings.Compare(a.Clip, b.Clip) })
	return &unsealedList{clips: all, await: func() error { return nil }}
}

func (l *unsealedList) After(ctx context.Context, id string) ([]clips.Unsealed, error) {
	i := slices.IndexFunc(l.clips, func(c clips.Unsealed) bool { return c.Clip > id })
	if i < 0 {
		return nil, ctx.Err()
	}
	return slices.Clone(l.clips[i:min(i+2, len(l.clips))]), ctx.Err()
}

func (l *unsealedList) Await(_ context.Context, position eventlog.Position) error {
	l.awaited = position
	return l.await()
}

// seal runs the sealing of clips, and returns how far it came.
func (a *archive) seal(l *unsealedList) (clips.Progress, error) {
	var last clips.Progress
	err := a.clips.SealAudio(a.T.Context(), l, func(p clips.Progress) { last = p })
	return last, err
}

// now returns the state of a clip.
func (a *archive) now(id string) clip.State {
	a.T.Helper()
	var state clip.State
	for _, event := range commandstest.Fold[clip.Event](a.World, clip.Stream(id)) {
		state = clip.Evolve(state, event)
	}
	return state
}

func TestAudioOfEarlierReleasesIsSealed(t *testing.T) {
	a := newArchive(t)
	account, closed := a.Open("indie"), a.Open("indie")
	var old []clips.Unsealed
	for range 5 {
		old = append(old, a.saveInClear(account, sound))
	}
	// given clips that need nothing: deleted, of a closed account, and one that the list still shows
	gone, erased := a.saveInClear(account, sound), a.saveInClear(closed, sound)
	_, err := a.clips.Delete(t.Context(), gone.Clip, account, commandstest.Operator())
	require.NoError(t, err)
	require.NoError(t, a.keys.Erase(t.Context(), closed))
	fresh := a.save(account, sound)
	all := list(append(slices.Clone(old), gone, erased, clips.Unsealed{Clip: fresh, Account: account, Blob: blobs.Address(a.saved(fresh).Blob)})...)

	for range 2 { // the second time changes nothing
		progress, err := a.seal(all)
		require.NoError(t, err)
		require.True(t, progress.Ended)
		require.Zero(t, progress.Failed)
		for _, one := range old {
			state := a.now(one.Clip)
			require.True(t, state.SealedAudio)
			require.Equal(t, sound, a.read(account, state.Blob))
			require.Len(t, commandstest.Fold[clip.Event](a.World, clip.Stream(one.Clip)), 2)
			_, err := a.store.Stat(t.Context(), one.Blob)
			require.ErrorIs(t, err, blobs.ErrNotFound, "what was in clear is gone")
		}
		require.True(t, a.now(gone.Clip).Deleted)
		require.Len(t, a.blobs(), 5+1+1)
	}
	require.NotZero(t, all.awaited)
}

func TestAClipThatCannotBeSealedHoldsNobodyUp(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	one, lost, two := a.saveInClear(account, sound), a.saveInClear(account, sound), a.saveInClear(account, sound)
	require.NoError(t, a.store.Delete(t.Context(), lost.Blob))
	progress, err := a.seal(list(one, lost, two))
	require.NoError(t, err)
	require.Equal(t, clips.Progress{Sealed: 2, Failed: 1, Ended: true}, progress)
	require.Contains(t, a.log(), lost.Clip)
	require.False(t, a.now(lost.Clip).SealedAudio)
}

// A former blob is there as long as a read model leads to it, and the sweep removes what is left then.
func TestSealingThatEndsEarlyCostsNoClip(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	one := a.saveInClear(account, sound)
	behind := list(one)
	behind.await = func() error { return errors.New("the read model is behind") }
	_, err := a.seal(behind)
	require.Error(t, err)
	_, err = a.store.Stat(t.Context(), one.Blob)
	require.NoError(t, err, "readers may be led there")

	a.late = 2 * time.Hour
	removed, err := a.clips.Sweep(t.Context(), shown(blobs.Address(a.now(one.Clip).Blob)))
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.Equal(t, sound, a.read(account, a.now(one.Clip).Blob))

	// and without the store or the keyring it is tried again later
	two := a.saveInClear(account, sound)
	_, err = a.pool.Exec(t.Context(), `alter schema keyring rename to keyring_away`)
	require.NoError(t, err)
	other := a.Open("indie")
	three := a.saveInClear(other, sound)
	_, err = a.seal(list(three))
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
	require.False(t, a.now(two.Clip).SealedAudio)
	require.False(t, a.now(three.Clip).SealedAudio)
}

// Instances that do the same, and owners who delete meanwhile, leave each clip with one blob, or none.
func TestSealingAtOnce(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	var old []clips.Unsealed
	for range 12 {
		old = append(old, a.saveInClear(account, sound))
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if err := a.clips.SealAudio(t.Context(), list(slices.Clone(old)...), func(clips.Progress) {}); err != nil {
				t.Error(err)
			}
		})
	}
	for _, one := range old[:4] {
		group.Go(func() {
			if _, err := a.clips.Delete(t.Context(), one.Clip, account, commandstest.Operator()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	left := a.blobs()
	for i, one := range old {
		state := a.now(one.Clip)
		require.Equal(t, i < 4, state.Deleted)
		if !state.Deleted {
			require.True(t, state.SealedAudio)
			require.Contains(t, left, blobs.Address(state.Blob))
			require.Equal(t, sound, a.read(account, state.Blob))
		}
	}
	a.late = 2 * time.Hour // a deletion may have passed the copy of one that was sealed meanwhile
	_, err := a.clips.Sweep(t.Context(), shown())
	require.NoError(t, err)
	require.Len(t, a.blobs(), 8)
}
