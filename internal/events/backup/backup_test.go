package backup_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/backup"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

// source is a service that is backed up.
type source struct {
	identity eventlog.Identity
	events   []eventlog.Recorded
	blobs    map[blobs.Address]string
	fetched  int
}

func newSource(events int) *source {
	s := &source{identity: eventlog.Identity{LogID: uuid.New(), Epoch: 1}, blobs: map[blobs.Address]string{}}
	for range events {
		s.happen()
	}
	return s
}

func (s *source) happen() {
	n := uint64(len(s.events))
	s.events = append(s.events, eventlog.Recorded{
		ID: uuid.New(), Stream: "x-1", Revision: n, Position: eventlog.Position{Commit: n*10 + 10, Prepare: n*10 + 10},
		Type: "happened",
		Data: []byte(`{"n":1}`), Metadata: []byte(`{}`), Created: time.Unix(1700000000, 0).UTC(),
	})
}

func (s *source) store(owner, content string) blobs.Address {
	address := blobs.NewAddress(blobs.Owner(owner))
	s.blobs[address] = content
	return address
}

// stream returns the events after a position, cut after a number of bytes unless that is negative.
func (s *source) stream(t *testing.T, after eventlog.Position, cut int) *logcopy.Reader {
	t.Helper()
	var out bytes.Buffer
	to, err := logcopy.NewWriter(&out, logcopy.Header{Identity: s.identity, After: after})
	require.NoError(t, err)
	for _, event := range s.events {
		if event.Position.Compare(after) > 0 {
			require.NoError(t, to.Write(event))
		}
	}
	require.NoError(t, to.End())
	whole := out.Bytes()
	if cut >= 0 {
		whole = whole[:min(cut, len(whole)-1)]
	}
	from, err := logcopy.NewReader(bytes.NewReader(whole))
	require.NoError(t, err)
	return from
}

func (s *source) keyring(t *testing.T) io.Reader {
	t.Helper()
	var out bytes.Buffer
	to, err := keyring.NewCopyWriter(&out, "k1")
	require.NoError(t, err)
	require.NoError(t, to.Write(keyring.CopiedKey{Account: "a1", Wrapped: []byte("wrapped"), Master: "m"}))
	require.NoError(t, to.End())
	return &out
}

func (s *source) list(t *testing.T) io.Reader {
	t.Helper()
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	for address, content := range s.blobs {
		require.NoError(t, lines.Encode(map[string]any{"address": address, "size": len(content)}))
	}
	require.NoError(t, lines.Encode(map[string]int{"blobs": len(s.blobs)}))
	return &out
}

func (s *source) fetch(address blobs.Address) (io.ReadCloser, error) {
	content, ok := s.blobs[address]
	if !ok {
		return nil, blobs.ErrNotFound
	}
	s.fetched++
	return io.NopCloser(strings.NewReader(content)), nil
}

func ignoreEvent(eventlog.Recorded) {}
func ignoreBlob(backup.Blob, bool)  {}
func position(n int) eventlog.Position {
	return eventlog.Position{Commit: uint64(n * 10), Prepare: uint64(n * 10)}
}

// back makes or resumes a run.
func (s *source) back(t *testing.T, dir string, now time.Time, keep time.Duration) (m backup.Manifest) {
	t.Helper()
	folder, err := backup.Open(dir)
	require.NoError(t, err)
	defer folder.Close()
	run, err := folder.Begin(now)
	require.NoError(t, err)
	after, err := run.Position()
	require.NoError(t, err)
	require.NoError(t, run.WriteLog(s.stream(t, after, -1), ignoreEvent))
	require.NoError(t, run.WriteKeyring(s.keyring(t)))
	_, err = run.Listed(s.list(t))
	require.NoError(t, err)
	require.NoError(t, run.WriteBlobs(s.fetch, keep, ignoreBlob))
	m, err = run.Commit(now)
	require.NoError(t, err)
	return m
}

// requireHas checks that a backup is intact and has the events and the blobs.
func requireHas(t *testing.T, dir string, events []eventlog.Recorded, wanted map[blobs.Address]string) {
	t.Helper()
	folder, m, err := backup.OpenToRead(dir)
	require.NoError(t, err)
	defer folder.Close()
	require.NoError(t, folder.Check(t.Context(), m, func(int64) {}))
	var found []eventlog.Recorded
	for event, err := range folder.Events(m) {
		require.NoError(t, err)
		found = append(found, event)
	}
	require.Equal(t, events, found)
	there := map[blobs.Address]string{}
	for blob, err := range folder.Blobs(m) {
		require.NoError(t, err)
		from, err := folder.OpenBlob(blob)
		require.NoError(t, err)
		content, err := io.ReadAll(from)
		require.NoError(t, errors.Join(err, from.Close()))
		there[blob.Address] = string(content)
	}
	require.Equal(t, wanted, there)
}

func TestALaterRunCopiesNewDataAndRemovesDeletedBlobs(t *testing.T) {
	dir, noon := filepath.Join(t.TempDir(), "backup"), time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s := newSource(3)
	kept, gone := s.store("clip-00000001", "kept"), s.store("clip-00000002", "gone")
	first := s.back(t, dir, noon, time.Hour)
	require.Equal(t, 2, s.fetched)
	requireHas(t, dir, s.events, s.blobs)

	// when a blob is deleted, and another one and an event are added
	lost := s.blobs[gone]
	delete(s.blobs, gone)
	added := s.store("voice-00000003", "added")
	s.happen()
	second := s.back(t, dir, noon.Add(time.Minute), time.Hour)

	// then only those are copied, and the deleted blob is kept for a while
	require.Equal(t, 3, s.fetched)
	require.Equal(t, first.Log, second.Log[:1])
	require.EqualValues(t, 1, second.Log[1].Events)
	requireHas(t, dir, s.events, map[blobs.Address]string{kept: "kept", added: "added", gone: lost})
	s.back(t, dir, noon.Add(time.Hour), time.Hour)
	requireHas(t, dir, s.events, map[blobs.Address]string{kept: "kept", added: "added", gone: lost})
	last := s.back(t, dir, noon.Add(time.Hour+time.Minute), time.Hour)
	requireHas(t, dir, s.events, s.blobs)
	require.Equal(t, backup.Stored{Blobs: 2, Bytes: 9}, last.Stored)
	require.NoFileExists(t, filepath.Join(dir, "blobs", gone.Name()[:2], string(gone)))
	copies, err := os.ReadDir(filepath.Join(dir, "keyring"))
	require.NoError(t, err)
	require.Len(t, copies, 1)

	// and a blob that comes back within that time is kept
	s.blobs[gone] = lost
	s.back(t, dir, noon.Add(2*time.Hour), time.Hour)
	delete(s.blobs, gone)
	s.back(t, dir, noon.Add(3*time.Hour), 2*time.Hour)
	s.blobs[gone] = lost
	s.back(t, dir, noon.Add(4*time.Hour), 2*time.Hour)
	delete(s.blobs, gone)
	s.back(t, dir, noon.Add(5*time.Hour+30*time.Minute), 2*time.Hour)
	requireHas(t, dir, s.events, map[blobs.Address]string{kept: "kept", added: "added", gone: lost})
}

// An interrupted run is resumed from any point without copying an event twice, and meanwhile the previous backup stays
// intact.
func TestAnInterruptedRunIsResumed(t *testing.T) {
	for cut := 200; cut < 1500; cut += 130 {
		dir := filepath.Join(t.TempDir(), "backup")
		s := newSource(3)
		s.back(t, dir, time.Now(), 0)
		before := s.events
		for range 5 {
			s.happen()
		}
		folder, err := backup.Open(dir)
		require.NoError(t, err)
		run, err := folder.Begin(time.Now())
		require.NoError(t, err)
		require.ErrorIs(t, run.WriteLog(s.stream(t, position(3), cut), ignoreEvent), logcopy.ErrCut)
		_, err = run.Commit(time.Now())
		require.Error(t, err)
		require.NoError(t, folder.Close()) // the process ends
		requireHas(t, dir, before, s.blobs)
		m := s.back(t, dir, time.Now(), 0)
		require.Equal(t, 2, m.Run)
		requireHas(t, dir, s.events, s.blobs)
	}
}

func TestABackupRefusesForeignAndDamagedData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "backup")
	s := newSource(2)
	s.back(t, dir, time.Now(), 0)
	begin := func() *backup.Run {
		folder, err := backup.Open(dir)
		require.NoError(t, err)
		t.Cleanup(func() { _ = folder.Close() })
		run, err := folder.Begin(time.Now())
		require.NoError(t, err)
		_, err = backup.Open(dir)
		require.ErrorContains(t, err, "another backup", "two runs at once")
		require.NoError(t, folder.Close())
		return run
	}
	// another log, and another epoch
	for _, other := range []eventlog.Identity{{LogID: uuid.New(), Epoch: 1}, {LogID: s.identity.LogID, Epoch: 2}} {
		stranger := newSource(3)
		stranger.identity = other
		require.ErrorContains(t, begin().WriteLog(stranger.stream(t, position(2), -1), ignoreEvent), "give another folder")
	}
	// a truncated keyring
	whole, err := io.ReadAll(s.keyring(t))
	require.NoError(t, err)
	require.ErrorIs(t, begin().WriteKeyring(bytes.NewReader(whole[:len(whole)-4])), keyring.ErrCopy)
	// a truncated list, and one with a path outside of the folder
	_, err = begin().Listed(strings.NewReader(`{"address":"clip-00000001.` + strings.Repeat("a", 64) + `","size":1}` +
		"\n"))
	require.ErrorIs(t, err, backup.ErrListCut)
	_, err = begin().Listed(strings.NewReader(`{"address":"../../etc/passwd","size":1}` + "\n" + `{"blobs":1}`))
	require.ErrorIs(t, err, blobs.ErrAddress)
	// a folder with other files, and the data folder of a stopped recitald
	for _, files := range [][]string{{"letters"}, {"format.json", "lock"}} {
		other := t.TempDir()
		for _, name := range files {
			require.NoError(t, os.WriteFile(filepath.Join(other, name), nil, 0o600))
		}
		_, err = backup.Open(other)
		require.ErrorContains(t, err, "not a backup")
		_, _, err = backup.OpenToRead(other)
		require.ErrorIs(t, err, backup.ErrNone)
	}
}

// Opening a FIFO waits for a writer, and a device has no end.
func TestACheckNamesWhatIsNotAFile(t *testing.T) {
	for name, place := range map[string]func(path string) error{
		"a FIFO":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		dir := t.TempDir()
		m := newSource(2).back(t, dir, time.Now(), 0)
		path := filepath.Join(dir, m.Log[0].File)
		require.NoError(t, os.Remove(path))
		require.NoError(t, place(path))
		folder, m, err := backup.OpenToRead(dir)
		require.NoError(t, err)
		checked := make(chan error, 1)
		go func() { checked <- folder.Check(t.Context(), m, func(int64) {}) }()
		select {
		case err = <-checked:
			require.ErrorContains(t, err, m.Log[0].File, name)
			for _, err = range folder.Events(m) {
				require.Error(t, err, name)
			}
		case <-time.After(time.Minute):
			require.FailNow(t, "the check hangs", name)
		}
		require.NoError(t, folder.Close())
	}
}

// A backup of an unreleased build, which has a number as its format, is not changed.
func TestABackupOfAnUnreleasedBuildIsRefused(t *testing.T) {
	for mark, refused := range map[string]string{
		"":                        "comes from an unreleased build",
		`"format": 1, `:           "comes from an unreleased build",
		`"format": "recital 2", `: `has the format "recital 2"`,
	} {
		dir := t.TempDir()
		newSource(3).back(t, dir, time.Now(), 0)
		manifest := filepath.Join(dir, "manifest.json")
		content, err := os.ReadFile(manifest)
		require.NoError(t, err)
		unmarked := regexp.MustCompile(`"format": "recital 1",\s*`).ReplaceAllLiteralString(string(content), mark)
		require.NotEqual(t, string(content), unmarked)
		require.NoError(t, os.WriteFile(manifest, []byte(unmarked), 0o600))

		_, _, err = backup.OpenToRead(dir)
		require.ErrorContains(t, err, refused)
		folder, err := backup.Open(dir)
		require.NoError(t, err)
		_, err = folder.Begin(time.Now())
		require.ErrorContains(t, err, refused)
		require.NoError(t, folder.Close())
		kept, err := os.ReadFile(manifest)
		require.NoError(t, err)
		require.Equal(t, unmarked, string(kept))
	}
}
