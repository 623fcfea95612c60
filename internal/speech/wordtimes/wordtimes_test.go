package wordtimes_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/wordtimes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// room is a Store on a real folder and a real keyring, with a settable clock.
type room struct {
	*wordtimes.Store
	t     *testing.T
	pool  *pgxpool.Pool
	dir   string
	store *folder.Store
	keys  *pgkeys.Keyring
	late  atomic.Int64 // nanoseconds by which the clock is ahead
}

func newRoom(t *testing.T) *room {
	t.Helper()
	r := &room{t: t, pool: pgtest.New(t), dir: t.TempDir()}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	r.keys, err = pgkeys.New(pgkeys.Config{
		Pool: r.pool, MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: quiet,
	})
	require.NoError(t, err)
	r.store, err = folder.Open(folder.Config{Dir: r.dir, Instance: "test", Logger: quiet})
	require.NoError(t, err)
	r.Store = wordtimes.New(r.keys, r.store, r.now)
	return r
}

func (r *room) now() time.Time { return time.Now().Add(time.Duration(r.late.Load())) }

func (r *room) id() string {
	r.t.Helper()
	id, err := r.DrawID()
	require.NoError(r.t, err)
	return id
}

// put stores times under a new id.
func (r *room) put(account string, times []speech.Timing) string {
	r.t.Helper()
	id := r.id()
	require.NoError(r.t, r.Put(r.t.Context(), account, id, times))
	return id
}

// files returns the contents of all files of the store, by path.
func (r *room) files() map[string]string {
	r.t.Helper()
	files := map[string]string{}
	require.NoError(r.t, filepath.WalkDir(r.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[path] = string(content)
		return err
	}))
	return files
}

var secret = []speech.Timing{
	{Text: "", Duration: 0.2}, {Text: "Zyzzogeton", Start: 0.2, Duration: 0.75}, {Text: "", Start: 0.95, Duration: 0.1},
}

func TestTimesAreFoundByTheirID(t *testing.T) {
	r := newRoom(t)
	id, other := r.put("a1", secret), r.put("a2", []speech.Timing{{Text: "else"}})
	found, err := r.Find(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, secret, found)
	found, err = r.Find(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, "else", found[0].Text)

	// also by another instance that shares the blobs and the keyring
	elsewhere := wordtimes.New(r.keys, r.store, time.Now)
	found, err = elsewhere.Find(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, secret, found)

	for name, id := range map[string]string{
		"unknown": r.id(), "empty": "", "short": id[:31], "long": id + "0", "upper case": strings.ToUpper("ab" + id[2:]),
		"a path": "../../" + id[:26], "a prefix": id[:8], "a pattern": "*",
	} {
		_, err := r.Find(t.Context(), id)
		require.ErrorIs(t, err, wordtimes.ErrNotFound, name)
	}
}

func TestTimesAreSealed(t *testing.T) {
	r := newRoom(t)
	id := r.put("a1", secret)
	require.Len(t, r.files(), 1)
	for path, content := range r.files() {
		require.NotContains(t, content, "Zyzzogeton", path)
		require.NotContains(t, content, "0.75", path)
		require.Contains(t, path, "timestamps-"+id)
	}

	// so that they are gone with the account's key
	require.NoError(t, r.keys.Erase(t.Context(), "a1"))
	_, err := r.Find(t.Context(), id)
	require.ErrorIs(t, err, wordtimes.ErrNotFound)
	require.Error(t, r.Put(t.Context(), "a1", r.id(), secret))
	require.Len(t, r.files(), 1)
}

func TestTheTimesOfAnAccountAreErasedWithIt(t *testing.T) {
	r := newRoom(t)
	for range 3 {
		r.put("a1", secret)
	}
	other := r.put("a2", secret)
	_, err := r.store.Put(t.Context(), blobs.NewAddress(blobs.Owner("timestamps-"+r.id())), strings.NewReader("broken"), 6)
	require.NoError(t, err)
	count := func(account string, until time.Time) int64 {
		t.Helper()
		n, err := r.Count(t.Context(), account, until)
		require.NoError(t, err)
		return n
	}
	require.EqualValues(t, 3, count("a1", time.Time{}))
	require.EqualValues(t, 3, count("a1", r.now()))
	require.Zero(t, count("a1", r.now().Add(-time.Hour)), "stored when it could not be the account's any more")

	require.NoError(t, r.EraseFor(t.Context(), "a1"))
	require.NoError(t, r.EraseFor(t.Context(), "a1"))
	require.Zero(t, count("a1", time.Time{}))
	require.EqualValues(t, 1, count("a2", time.Time{}))
	found, err := r.Find(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, secret, found)
}

func TestTimesAreErasedAfterTenMinutes(t *testing.T) {
	r := newRoom(t)
	id := r.put("a1", secret)
	clip, err := r.store.Put(t.Context(), blobs.NewAddress("clip-0123456789abcdef"), strings.NewReader("audio"), 5)
	require.NoError(t, err)
	sweep := func() int {
		t.Helper()
		erased, err := r.Sweep(t.Context())
		require.NoError(t, err)
		return erased
	}

	// given times that are almost ten minutes old, then they remain
	r.late.Store(int64(wordtimes.Kept - time.Minute))
	require.Zero(t, sweep())
	_, err = r.Find(t.Context(), id)
	require.NoError(t, err)

	// given times that are ten minutes old, then they cannot be read, swept or not
	r.late.Store(int64(wordtimes.Kept))
	_, err = r.Find(t.Context(), id)
	require.ErrorIs(t, err, wordtimes.ErrNotFound)
	require.Len(t, r.files(), 2)

	// and the sweep erases them, and nothing else
	require.Equal(t, 1, sweep())
	require.Zero(t, sweep())
	_, err = r.store.Stat(t.Context(), clip.Address)
	require.NoError(t, err)
	require.Len(t, r.files(), 1)
}

func TestTroubleIsTold(t *testing.T) {
	r := newRoom(t)
	id := r.put("a1", secret)

	// a foreign blob is not word times, and its content is not revealed
	other := r.id()
	_, err := r.store.Put(t.Context(), blobs.NewAddress(blobs.Owner("timestamps-"+other)),
		strings.NewReader(`{"account":"Zyzzogeton"`), 23)
	require.NoError(t, err)
	_, err = r.Find(t.Context(), other)
	require.Error(t, err)
	require.NotErrorIs(t, err, wordtimes.ErrNotFound)
	require.NotContains(t, err.Error(), "Zyzzogeton")

	// a call with a cancelled context finds, stores and erases nothing
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Find(ended, id)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, r.Put(ended, "a1", r.id(), secret), context.Canceled)
	_, err = r.Sweep(ended)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, r.files(), 2)

	// nor does a call with a missing store
	require.NoError(t, os.RemoveAll(r.dir))
	_, err = r.Find(t.Context(), id)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
	require.Equal(t, domain.Unavailable, domain.CodeOf(r.Put(t.Context(), "a1", id, secret)))
	_, err = r.Sweep(t.Context())
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
}

func TestAnIDTellsWhenItWasDrawnAndNothingElse(t *testing.T) {
	r := newRoom(t)
	ids := map[string]bool{}
	for range 1000 {
		before := time.Now().Truncate(time.Second)
		id := r.id()
		drawn, ok := wordtimes.Drawn(id)
		require.True(t, ok)
		require.False(t, drawn.Before(before))
		require.False(t, drawn.After(time.Now()))
		ids[id[8:]] = true
	}
	require.Len(t, ids, 1000)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9a-fA-Fg./-]{0,40}`).Draw(t, "text")
		if _, ok := wordtimes.Drawn(text); ok {
			require.NoError(t, blobs.Owner("timestamps-"+text).Check())
			require.Len(t, text, 32)
		}
	})
}
