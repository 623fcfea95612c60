package clips_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/blobtest"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
	"github.com/recital-tts/recital/internal/speech/audio"
)

const sound = "samples of a voice"

func TestARecordingIsSaved(t *testing.T) {
	a := newArchive(t)
	for _, format := range []audio.Format{audio.PCMS16LE, audio.MP3, audio.WAV} {
		t.Run(string(format), func(t *testing.T) {
			// given audio that a client has received
			account := a.Open("indie")
			draft, kept, client := a.record(account, sound)
			defer kept.Close()
			require.Equal(t, sound, client.String())

			// when it is saved
			position, err := a.clips.Save(t.Context(), recording(draft, format), kept, commandstest.Operator())
			require.NoError(t, err)

			// then the event describes the clip and has the address of its audio
			saved := a.saved(draft.ID)
			require.WithinDuration(t, time.Now(), saved.At, commandstest.Patience)
			require.Equal(t, clip.Saved{
				Clip: draft.ID, Account: account, Voice: "leah", Language: "en-us", Speed: 1.5, Format: string(format),
				SampleRate: 24000,
				MediaType:  format.ContentType(), Characters: 6, Milliseconds: 250, Blob: saved.Blob, Bytes: saved.Bytes, Seed: 7,
				Settings: clip.Settings{Model: "aurora"}, Debug: true, Sealed: saved.Sealed, At: saved.At,
			}, saved)
			require.Equal(t, a.Last(clip.Stream(draft.ID)).Position, position)
			require.Equal(t, sound, a.Read(account, saved.Blob))
			require.EqualValues(t, len(sound), saved.Bytes)

			// and the text is sealed
			require.NotContains(t, string(saved.Sealed), "Hello.")
			content, err := a.Keys.Open(t.Context(), account, saved.Sealed, clip.SealedFor(draft.ID))
			require.NoError(t, err)
			var c clip.Content
			require.NoError(t, json.Unmarshal(content, &c))
			require.Equal(t, clip.Content{Text: "Hello."}, c)
		})
	}
	require.Len(t, a.Files(), 3, "a clip has one file")
}

func TestAFileIsStoredWithItsTrueLength(t *testing.T) {
	a := newArchive(t)
	spec := audio.Spec{Format: audio.WAV, SampleRate: 24000}
	streamed := append([]byte("RIFF"), bytes.Repeat([]byte{0xFF}, 96)...) // without lengths in its header
	account := a.Open("indie")
	draft, kept, _ := a.record(account, string(streamed))
	defer kept.Close()
	a.Must(a.clips.Save(t.Context(), recording(draft, audio.WAV), kept, commandstest.Operator()))
	whole := audio.Whole(spec, bytes.Clone(streamed))
	require.NotEqual(t, streamed, whole)
	require.Equal(t, string(whole), a.Read(account, a.saved(draft.ID).Blob))
	require.EqualValues(t, len(whole), a.saved(draft.ID).Bytes)
	require.Len(t, a.Files(), 1)
}

func TestWhatIsClosedLeavesNothing(t *testing.T) {
	a := newArchive(t)
	draft, kept, client := a.record(a.Open("indie"), sound)
	kept.Close()
	require.Empty(t, a.Files())
	require.Zero(t, a.spool.Claimed())

	// and cannot be saved any more, but the client still receives audio
	_, err := kept.Tee(client).Write([]byte("more"))
	require.NoError(t, err)
	require.Equal(t, sound+"more", client.String())
	_, err = a.clips.Save(t.Context(), recording(draft, audio.MP3), kept, commandstest.Operator())
	require.Error(t, err)
	require.Empty(t, commandstest.Fold[clip.Event](a.World, clip.Stream(draft.ID)))
	require.Empty(t, a.Files())
}

// A client that disconnects after all audio has a clip.
func TestAClipIsSavedAfterItsContextHasEnded(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	draft, kept, _ := a.record(account, sound)
	defer kept.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.Must(a.clips.Save(ctx, recording(draft, audio.MP3), kept, commandstest.Operator()))
	require.Equal(t, sound, a.Read(account, a.saved(draft.ID).Blob))
}

// Saving needs no keyring: the key of the audio was sealed with the draft.
func TestAClipIsSavedWhileTheKeyringIsAway(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	draft, kept, _ := a.record(account, sound)
	defer kept.Close()
	keys := a.Keys
	a.Keys = nil
	withoutKeys := a.open(a.Store, commandstest.Patience)
	a.Keys = keys
	a.Must(withoutKeys.Save(t.Context(), recording(draft, audio.MP3), kept, commandstest.Operator()))
	require.Equal(t, sound, a.Read(account, a.saved(draft.ID).Blob))
}

func TestTheAudioIsSealed(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	id := a.save(account, strings.Repeat(sound, 10_000))
	for _, path := range a.Files() {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, string(content), sound)
	}
	require.NoError(t, a.Keys.Erase(t.Context(), account))
	_, err := sealed.New(a.Store, a.Keys).Open(t.Context(), account, blobs.Address(a.saved(id).Blob), 0, 1)
	require.ErrorIs(t, err, keyring.ErrErased, "where copies remain")
}

func TestAudioThatCannotBeKeptCostsTheClipAlone(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	require.NoError(t, os.RemoveAll(a.Dir))
	draft, kept, client := a.record(account, sound)
	defer kept.Close()
	require.Equal(t, sound, client.String(), "the client has its audio")
	_, err := a.clips.Save(t.Context(), recording(draft, audio.MP3), kept, commandstest.Operator())
	require.Error(t, err)
	require.Empty(t, commandstest.Fold[clip.Event](a.World, clip.Stream(draft.ID)))
}

func TestAStoreThatHangsCostsTheClipAlone(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	store := &blobtest.Stuck{Store: a.Store, Release: make(chan struct{})}
	hanging := a.open(store, 10*time.Millisecond)
	for range 100 { // more than are saved concurrently
		draft, kept, client := a.record(account, sound)
		require.Equal(t, sound, client.String(), "the client has its audio, whatever the store does")
		_, err := hanging.Save(t.Context(), recording(draft, audio.MP3), kept, commandstest.Operator())
		require.Error(t, err)
		require.Empty(t, commandstest.Fold[clip.Event](a.World, clip.Stream(draft.ID)))
		kept.Close()
		require.Zero(t, a.spool.Claimed(), "the spool gets its room back")
	}
	close(store.Release)

	// and when the store responds again, clips are saved again
	require.Equal(t, sound, a.Read(account, a.saved(a.save(account, sound)).Blob))
}

func TestASpoolWhoseDiskFailsCostsTheClipAlone(t *testing.T) {
	a := newArchive(t)
	dir := t.TempDir()
	var err error
	a.spool, err = spool.Open(spool.Config{Dir: dir, Budget: 64 << 20, MaxFile: 16 << 20})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	a.clips = a.open(a.Store, commandstest.Patience)
	long := strings.Repeat(sound, 100_000)
	draft, kept, client := a.record(a.Open("indie"), long) // more than is held in memory
	require.Equal(t, long, client.String())
	_, err = a.clips.Save(t.Context(), recording(draft, audio.MP3), kept, commandstest.Operator())
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Empty(t, a.Files())
	kept.Close()
	require.Zero(t, a.spool.Claimed())
}

// Without room for its audio a clip is refused before speech begins. Audio that becomes too large only loses the clip.
func TestAFullSpool(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	draft, err := a.clips.Draft(t.Context(), account, clip.Content{Text: "Hello."})
	require.NoError(t, err)

	large, err := a.clips.Record(draft, 1)
	require.NoError(t, err)
	var client int
	for range 17 {
		n, err := large.Tee(io.Discard).Write(make([]byte, 1<<20))
		require.NoError(t, err)
		client += n
	}
	require.Equal(t, 17<<20, client)
	_, err = a.clips.Save(t.Context(), recording(draft, audio.MP3), large, commandstest.Operator())
	require.ErrorIs(t, err, spool.ErrTooLarge)

	_, err = a.clips.Record(draft, 16<<20)
	require.ErrorIs(t, err, spool.ErrShare)
	large.Close()
	require.Empty(t, a.Files())
	require.Zero(t, a.spool.Claimed())
}

// A clip that could not be saved is refused before speech begins.
func TestADraftIsRefusedWhereItsContentCannotBeSealed(t *testing.T) {
	content := clip.Content{Text: "Hello."}
	t.Run("an erased account", func(t *testing.T) {
		a := newArchive(t)
		account := a.Open("indie")
		require.NoError(t, a.Keys.Erase(t.Context(), account))
		_, err := a.clips.Draft(t.Context(), account, content)
		require.Equal(t, domain.Unauthenticated, domain.CodeOf(err), "%v", err)
	})
	t.Run("no keyring", func(t *testing.T) {
		a := newArchive(t)
		_, err := a.Pool.Exec(t.Context(), `alter schema keyring rename to keyring_away`)
		require.NoError(t, err)
		_, err = a.clips.Draft(t.Context(), a.Open("indie"), content)
		require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
		require.NotContains(t, err.Error(), "Hello.")
	})
	t.Run("a keyring that hangs", func(t *testing.T) {
		a := newArchive(t)
		transaction, err := a.Pool.Begin(t.Context())
		require.NoError(t, err)
		defer func() { _ = transaction.Rollback(context.Background()) }()
		_, err = transaction.Exec(t.Context(), `lock table keyring.account_keys in access exclusive mode`)
		require.NoError(t, err)
		_, err = a.clips.Draft(t.Context(), a.Open("indie"), content)
		require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
	})
}
