package clips_test

import (
	"bytes"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
	"github.com/recital-tts/recital/internal/speech/audio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// archive keeps clips in a real folder, with a real keyring.
type archive struct {
	*commandstest.World
	clips *clips.Clips
	pool  *pgxpool.Pool
	keys  *pgkeys.Keyring
	store *folder.Store
	spool *spool.Spool
	dir   string        // of the store
	late  time.Duration // how far the clock of the clips is ahead

	mu     sync.Mutex
	logged bytes.Buffer
}

func newArchive(t testing.TB) *archive {
	t.Helper()
	a := &archive{World: commandstest.New(t), pool: pgtest.New(t), dir: filepath.Join(t.TempDir(), "blobs")}
	logger := slog.New(slog.NewTextHandler(a, nil))
	var err error
	a.keys, err = pgkeys.Open(t.Context(), pgkeys.Config{Pool: a.pool, MasterKey: bytes.Repeat([]byte{1}, 32),
		Logger: logger})
	require.NoError(t, err)
	a.store, err = folder.Open(folder.Config{Dir: a.dir, Instance: "test", Logger: logger})
	require.NoError(t, err)
	a.spool, err = spool.Open(spool.Config{Dir: t.TempDir(), Budget: 64 << 20, MaxFile: 16 << 20})
	require.NoError(t, err)
	a.clips = a.open(a.store, commandstest.Patience)
	return a
}

// open returns clips in another store, and with another deadline.
func (a *archive) open(store blobs.Store, timeout time.Duration) *clips.Clips {
	return clips.New(clips.Config{
		Journal: a.Journal, Keys: a.keys, Blobs: store, Spool: a.spool, SaveTimeout: timeout,
		Now: func() time.Time { return time.Now().Add(a.late) }, Logger: slog.New(slog.NewTextHandler(a, nil)),
	})
}

// Write is that of the logger.
func (a *archive) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.logged.Write(line)
}

func (a *archive) log() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.logged.String()
}

// recording is a result that becomes a clip.
func recording(draft clips.Draft, format audio.Format) clips.Recording {
	return clips.Recording{
		Draft: draft, Voice: "leah", Language: "en-us", Speed: 1.5, Audio: audio.Spec{Format: format, SampleRate: 24000},
		Characters: 6, Length: 250 * time.Millisecond, Seed: 7, Debug: true,
		Settings: clip.Settings{Model: "aurora"},
	}
}

// record hands bytes over to a client, in two parts, and records them for an account. The caller closes what it
// returns.
func (a *archive) record(account, sound string) (draft clips.Draft, kept *clips.Audio, client *bytes.Buffer) {
	a.T.Helper()
	draft, err := a.clips.Draft(a.T.Context(), account, clip.Content{Text: "Hello."})
	require.NoError(a.T, err)
	kept, err = a.clips.Record(draft, int64(len(sound)))
	require.NoError(a.T, err)
	client = &bytes.Buffer{}
	to := kept.Beside(client)
	for _, part := range []string{sound[:len(sound)/2], sound[len(sound)/2:]} {
		n, err := io.WriteString(to, part)
		require.NoError(a.T, err)
		require.Equal(a.T, len(part), n)
	}
	return draft, kept, client
}

// save keeps bytes as a clip of an account, and returns its id.
func (a *archive) save(account, sound string) string {
	a.T.Helper()
	draft, kept, _ := a.record(account, sound)
	defer kept.Close()
	_, err := a.clips.Save(a.T.Context(), recording(draft, audio.PCMS16LE), kept, commandstest.Operator())
	require.NoError(a.T, err)
	return draft.ID
}

// saved returns the event of a clip.
func (a *archive) saved(id string) clip.Saved {
	a.T.Helper()
	events := commandstest.Fold[clip.Event](a.World, clip.Stream(id))
	require.Len(a.T, events, 1)
	return events[0].(clip.Saved)
}

// blobs returns the addresses of all blobs.
func (a *archive) blobs() (addresses []blobs.Address) {
	a.T.Helper()
	for blob, err := range a.store.List(a.T.Context(), "") {
		require.NoError(a.T, err)
		addresses = append(addresses, blob.Address)
	}
	return addresses
}

// files returns all files of the store, unfinished ones included.
func (a *archive) files() (files []string) {
	a.T.Helper()
	require.NoError(a.T, filepath.WalkDir(a.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// read returns an account's sealed audio.
func (a *archive) read(account, address string) string {
	a.T.Helper()
	reader, err := sealed.New(a.store, a.keys).Open(a.T.Context(), account, blobs.Address(address), 0, 1<<40)
	require.NoError(a.T, err)
	defer reader.Close()
	content, err := io.ReadAll(reader)
	require.NoError(a.T, err)
	return string(content)
}

// lastOf returns the position of a stream's last event.
func (a *archive) lastOf(stream string) (position eventlog.Position) {
	a.T.Helper()
	for recorded, err := range a.World.Log.ReadStream(a.T.Context(), stream, 0) {
		require.NoError(a.T, err)
		position = recorded.Position
	}
	return position
}
