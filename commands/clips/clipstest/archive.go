// Package clipstest provides tests with the stores of clips.
package clipstest

import (
	"bytes"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
	"github.com/recital-tts/recital/internal/testing/testlog"
)

// Archive is a real folder of audio with a real keyring.
type Archive struct {
	Pool   *pgxpool.Pool // of the keyring
	Keys   *pgkeys.Keyring
	Store  *folder.Store
	Dir    string // of the store
	Logged *testlog.Buffer

	t testing.TB
}

// NewArchive returns an empty archive.
func NewArchive(t testing.TB) *Archive {
	t.Helper()
	a := &Archive{Pool: pgtest.New(t), Dir: filepath.Join(t.TempDir(), "blobs"), Logged: &testlog.Buffer{}, t: t}
	var err error
	a.Keys, err = pgkeys.New(pgkeys.Config{Pool: a.Pool, MasterKey: bytes.Repeat([]byte{1}, 32),
		Logger: a.Logger()})
	require.NoError(t, err)
	a.Store, err = folder.Open(folder.Config{Dir: a.Dir, Instance: "test", Logger: a.Logger()})
	require.NoError(t, err)
	return a
}

// Logger returns a logger that writes to Logged.
func (a *Archive) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(a.Logged, nil)) }

// Kept returns the addresses of all blobs.
func (a *Archive) Kept() (addresses []blobs.Address) {
	a.t.Helper()
	for blob, err := range a.Store.List(a.t.Context(), "") {
		require.NoError(a.t, err)
		addresses = append(addresses, blob.Address)
	}
	return addresses
}

// Files returns all files of the store, unfinished ones included.
func (a *Archive) Files() (files []string) {
	a.t.Helper()
	require.NoError(a.t, filepath.WalkDir(a.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// Read returns an account's sealed audio.
func (a *Archive) Read(account, address string) string {
	a.t.Helper()
	reader, err := sealed.New(a.Store, a.Keys).Open(a.t.Context(), account, blobs.Address(address), 0, 1<<40)
	require.NoError(a.t, err)
	defer reader.Close()
	content, err := io.ReadAll(reader)
	require.NoError(a.t, err)
	return string(content)
}
