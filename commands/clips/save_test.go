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
			id, kept, client := a.record(sound)
			defer kept.Discard()
			require.Equal(t, sound, client.String())

			// when it is saved
			r := recording(account, format)
			position, err := a.clips.Save(t.Context(), r, kept, commandstest.Operator())
			require.NoError(t, err)

			// then the event says what it is and where its audio is
			saved := a.saved(id)
			require.WithinDuration(t, time.Now(), saved.At, commandstest.Patience)
			require.Equal(t, clip.Saved{
				Clip: id, Account: account, Voice: "leah", Language: "en-us", Speed: 1.5, Format: string(format), SampleRate: 24000,
				MediaType: format.ContentType(), Characters: 6, Milliseconds: 250, Blob: saved.Blob, Bytes: saved.Bytes, Seed: 7,
				Settings: clip.Settings{Model: "aurora"}, Debug: true, Sealed: saved.Sealed, At: saved.At,
			}, saved)
			require.Equal(t, a.lastOf(clip.Stream(id)), position)
			require.Equal(t, sound, a.read(saved.Blob))
			require.EqualValues(t, len(sound), saved.Bytes)

			// and what was said is sealed
			require.NotContains(t, string(saved.Sealed), "Hello.")
			content, err := a.keys.Open(t.Context(), account, saved.Sealed, clip.SealedFor(id))
			require.NoError(t, err)
			var c clip.Content
			require.NoError(t, json.Unmarshal(content, &c))
			require.Equal(t, r.Content, c)
		})
	}
	require.Len(t, a.files(), 3, "a clip has one file")
}

func TestAFileIsStoredWithItsTrueLength(t *testing.T) {
	a := newArchive(t)
	spec := audio.Spec{Format: audio.WAV, SampleRate: 24000}
	streamed := append([]byte("RIFF"), bytes.Repeat([]byte{0xFF}, 96)...) // without lengths in its header
	id, kept, _ := a.record(string(streamed))
	defer kept.Discard()
	_, err := a.clips.Save(t.Context(), recording(a.Open("indie"), audio.WAV), kept, commandstest.Operator())
	require.NoError(t, err)
	whole := audio.Whole(spec, bytes.Clone(streamed))
	require.NotEqual(t, streamed, whole)
	require.Equal(t, string(whole), a.read(a.saved(id).Blob))
	require.Len(t, a.files(), 1)
}

func TestWhatIsDiscardedLeavesNothing(t *testing.T) {
	a := newArchive(t)
	id, kept, client := a.record(sound)
	kept.Discard()
	require.Empty(t, a.files())

	// and cannot be saved any more, while the client goes on
	_, err := kept.Beside(client).Write([]byte("more"))
	require.NoError(t, err)
	require.Equal(t, sound+"more", client.String())
	_, err = a.clips.Save(t.Context(), recording(a.Open("indie"), audio.MP3), kept, commandstest.Operator())
	require.Error(t, err)
	require.Empty(t, commandstest.Fold[clip.Event](a.World, clip.Stream(id)))
	require.Empty(t, a.files())
}

// A client that hangs up when it has all audio has a clip.
func TestRecordingGoesOnWhenItsContextEnds(t *testing.T) {
	a := newArchive(t)
	id, err := a.clips.DrawID()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	kept := a.clips.Record(ctx, id)
	defer kept.Discard()
	cancel()
	_, err = kept.Beside(t.Output()).Write([]byte(sound))
	require.NoError(t, err)
	_, err = a.clips.Save(t.Context(), recording(a.Open("indie"), audio.MP3), kept, commandstest.Operator())
	require.NoError(t, err)
	require.Equal(t, sound, a.read(a.saved(id).Blob))
}

func TestWhatCannotBeKeptCostsTheClipAlone(t *testing.T) {
	for name, breaks := range map[string]func(t *testing.T, a *archive, account string){
		"no disk":           func(t *testing.T, a *archive, _ string) { require.NoError(t, os.RemoveAll(a.dir)) },
		"an erased account": func(t *testing.T, a *archive, account string) { require.NoError(t, a.keys.Erase(t.Context(), account)) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			account := a.Open("indie")
			breaks(t, a, account)
			id, kept, client := a.record(sound)
			require.Equal(t, sound, client.String(), "the client has its audio")
			_, err := a.clips.Save(t.Context(), recording(account, audio.MP3), kept, commandstest.Operator())
			require.Error(t, err)
			require.NotContains(t, err.Error(), "Hello.")
			kept.Discard()
			require.Empty(t, commandstest.Fold[clip.Event](a.World, clip.Stream(id)))
			if name != "no disk" {
				require.Empty(t, a.files())
			}
		})
	}
}
