package clips_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/clips/clipstest"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/speech/audio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// archive keeps clips in a real folder, with a real keyring.
type archive struct {
	*commandstest.World
	*clipstest.Archive
	clips *clips.Clips
	spool *spool.Spool
	late  time.Duration // by which the clock of the clips is ahead
}

func newArchive(t testing.TB) *archive {
	t.Helper()
	a := &archive{World: commandstest.New(t), Archive: clipstest.NewArchive(t)}
	var err error
	a.spool, err = spool.Open(spool.Config{Dir: t.TempDir(), Budget: 64 << 20, MaxFile: 16 << 20})
	require.NoError(t, err)
	a.clips = a.open(a.Store, commandstest.Patience)
	return a
}

// open returns clips in another store, and with another deadline.
func (a *archive) open(store blobs.Store, timeout time.Duration) *clips.Clips {
	return clips.New(clips.Config{
		Journal: a.Journal, Keys: a.Keys, Blobs: store, Spool: a.spool, SaveTimeout: timeout,
		Now: func() time.Time { return time.Now().Add(a.late) }, Logger: a.Logger(),
	})
}

// recording returns a result to be saved.
func recording(draft clips.Draft, format audio.Format) clips.Recording {
	return clips.Recording{
		Draft: draft, Voice: "leah", Language: "en-us", Speed: 1.5, Audio: audio.Spec{Format: format, SampleRate: 24000},
		Characters: 6, Length: 250 * time.Millisecond, Seed: 7, Debug: true,
		Settings: clip.Settings{Model: "aurora"},
	}
}

// record passes bytes to a client, in two parts, and records them for an account. The caller closes the Audio.
func (a *archive) record(account, sound string) (draft clips.Draft, kept *clips.Audio, client *bytes.Buffer) {
	a.T.Helper()
	draft, err := a.clips.Draft(a.T.Context(), account, clip.Content{Text: "Hello."})
	require.NoError(a.T, err)
	kept, err = a.clips.Record(draft, int64(len(sound)))
	require.NoError(a.T, err)
	client = &bytes.Buffer{}
	to := kept.Tee(client)
	for _, part := range []string{sound[:len(sound)/2], sound[len(sound)/2:]} {
		n, err := io.WriteString(to, part)
		require.NoError(a.T, err)
		require.Equal(a.T, len(part), n)
	}
	return draft, kept, client
}

// save saves bytes as a clip of an account, and returns its id.
func (a *archive) save(account, sound string) string {
	a.T.Helper()
	draft, kept, _ := a.record(account, sound)
	defer kept.Close()
	a.Must(a.clips.Save(a.T.Context(), recording(draft, audio.PCMS16LE), kept, commandstest.Operator()))
	return draft.ID
}

// saved returns the event of a clip.
func (a *archive) saved(id string) clip.Saved {
	a.T.Helper()
	events := commandstest.Fold[clip.Event](a.World, clip.Stream(id))
	require.Len(a.T, events, 1)
	return events[0].(clip.Saved)
}
