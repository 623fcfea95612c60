package clips_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/audio"
)

const sound = "samples of a voice"

func TestARecordingIsSaved(t *testing.T) {
	a := newArchive(t)
	for _, format := range []audio.Format{audio.PCMS16LE, audio.MP3, audio.WAV} {
		t.Run(string(format), func(t *testing.T) {
			// given audio that a client has taken
			account := a.Open("indie")
			draft, kept, client := a.record(account, sound)
			defer kept.Discard()
			require.Equal(t, sound, client.String())

			// when it is saved
			position, err := a.clips.Save(t.Context(), recording(draft, format), kept, commandstest.Operator())
			require.NoError(t, err)

			// then the event says what it is and where its audio is
			saved := a.saved(draft.ID)
			require.WithinDuration(t, time.Now(), saved.At, commandstest.Patience)
			require.Equal(t, clip.Saved{
				Clip: draft.ID, Account: account, Voice: "leah", Language: "en-us", Speed: 1.5, Format: string(format), SampleRate: 24000,
				MediaType: format.ContentType(), Characters: 6, Milliseconds: 250, Blob: saved.Blob, Bytes: saved.Bytes, Seed: 7,
				Settings: clip.Settings{Model: "aurora"}, Debug: true, Sealed: saved.Sealed, At: saved.At,
			}, saved)
			require.Equal(t, a.lastOf(clip.Stream(draft.ID)), position)
			require.Equal(t, sound, a.read(saved.Blob))
			require.EqualValues(t, len(sound), saved.Bytes)

			// and what was said is sealed
			require.NotContains(t, string(saved.Sealed), "Hello.")
			content, err := a.keys.Open(t.Context(), account, saved.Sealed, clip.SealedFor(draft.ID))
			require.NoError(t, err)
			var c clip.Content
			require.NoError(t, json.Unmarshal(content, &c))
			require.Equal(t, clip.Content{Text: "Hello."}, c)
		})
	}
	require.Len(t, a.files(), 3, "a clip has one file")
}

func TestAFileIsStoredWithItsTrueLength(t *testing.T) {
	a := newArchive(t)
	spec := audio.Spec{Format: audio.WAV, SampleRate: 24000}
	streamed := append([]byte("RIFF"), bytes.Repeat([]byte{0xFF}, 96)...) // without lengths in its header
	draft, kept, _ := a.record(a.Open("indie"), string(streamed))
	defer kept.Discard()
	_, err := a.clips.Save(t.Context(), recording(draft, audio.WAV), kept, commandstest.Operator())
	require.NoError(t, err)
	whole := audio.Whole(spec, bytes.Clone(streamed))
	require.NotEqual(t, streamed, whole)
	require.Equal(t, string(whole), a.read(a.saved(draft.ID).Blob))
	require.Len(t, a.files(), 1)
}

func TestWhatIsDiscardedLeavesNothing(t *testing.T) {
	a := newArchive(t)
	draft, kept, client := a.record(a.Open("indie"), sound)
	kept.Discard()
	require.Empty(t, a.files())

	// and cannot be saved any more, while the client goes on
	_, err := kept.Beside(client).Write([]byte("more"))
	require.NoError(t, err)
	require.Equal(t, sound+"more", client.String())
	_, err = a.clips.Save(t.Context(), recording(draft, audio.MP3), kept, commandstest.Operator())
	require.Error(t, err)
	require.Empty(t, commandstest.Fold[clip.Event](a.World, clip.Stream(draft.ID)))
	require.Empty(t, a.files())
}

// A client that hangs up when it has all audio has a clip.
func TestRecordingGoesOnWhenItsContextEnds(t *testing.T) {
	a := newArchive(t)
	draft, err := a.clips.Draft(t.Context(), a.Open("indie"), clip.Content{Text: "Hello."})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	kept := a.clips.Record(ctx, draft)
	defer kept.Discard()
	cancel()
	_, err = kept.Beside(t.Output()).Write([]byte(sound))
	require.NoError(t, err)
	_, err = a.clips.Save(t.Context(), recording(draft, audio.MP3), kept, commandstest.Operator())
	require.NoError(t, err)
	require.Equal(t, sound, a.read(a.saved(draft.ID).Blob))
}

func TestAudioThatCannotBeKeptCostsTheClipAlone(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	require.NoError(t, os.RemoveAll(a.dir))
	draft, kept, client := a.record(account, sound)
	defer kept.Discard()
	require.Equal(t, sound, client.String(), "the client has its audio")
	_, err := a.clips.Save(t.Context(), recording(draft, audio.MP3), kept, commandstest.Operator())
	require.Error(t, err)
	require.Empty(t, commandstest.Fold[clip.Event](a.World, clip.Stream(draft.ID)))
}

// A clip that could not be saved is refused before anything is said.
func TestADraftIsRefusedWhereItsContentCannotBeSealed(t *testing.T) {
	content := clip.Content{Text: "Hello."}
	t.Run("an erased account", func(t *testing.T) {
		a := newArchive(t)
		account := a.Open("indie")
		require.NoError(t, a.keys.Erase(t.Context(), account))
		_, err := a.clips.Draft(t.Context(), account, content)
		require.Equal(t, domain.Unauthenticated, domain.CodeOf(err), "%v", err)
	})
	t.Run("no keyring", func(t *testing.T) {
		a := newArchive(t)
		_, err := a.pool.Exec(t.Context(), `alter schema keyring rename to keyring_away`)
		require.NoError(t, err)
		_, err = a.clips.Draft(t.Context(), a.Open("indie"), content)
		require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
		require.NotContains(t, err.Error(), "Hello.")
	})
	t.Run("a keyring that hangs", func(t *testing.T) {
		a := newArchive(t)
		transaction, err := a.pool.Begin(t.Context())
		require.NoError(t, err)
		defer func() { _ = transaction.Rollback(context.Background()) }()
		_, err = transaction.Exec(t.Context(), `lock table keyring.account_keys in access exclusive mode`)
		require.NoError(t, err)
		_, err = a.clips.Draft(t.Context(), a.Open("indie"), content)
		require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
	})
}
