package datafolder_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/datafolder"
)

// open opens an unlocked folder, like a start.
func open(t *testing.T, dir string) *datafolder.Folder {
	t.Helper()
	f, err := datafolder.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// reopen closes a folder and opens it again, like the next start.
func reopen(t *testing.T, f *datafolder.Folder) *datafolder.Folder {
	t.Helper()
	require.NoError(t, f.Close())
	return open(t, f.Dir())
}

func saying(text string) func() (string, error) {
	return func() (string, error) { return text, nil }
}

func never() (string, error) { return "", errors.New("made again") }

func TestAFileIsMadeOnceForItsOwnerOnly(t *testing.T) {
	f := open(t, t.TempDir())
	made, err := f.FileOnce("token", saying("first"))
	require.NoError(t, err)
	assert.Equal(t, "first", made)

	f = reopen(t, f)
	again, err := f.FileOnce("token", never)
	require.NoError(t, err)
	assert.Equal(t, "first", again)

	info, err := os.Stat(f.Path("token"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode())
	assert.Equal(t, []string{"token"}, names(t, f.Dir()))
}

// A crash before the link leaves part of a temporary file; one after it leaves the complete file with a second name.
func TestAFileIsWholeAfterACrash(t *testing.T) {
	t.Run("before it was in place", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".new-1"), []byte("fir"), 0o600))
		f := open(t, dir)
		assert.Empty(t, names(t, dir))
		made, err := f.FileOnce("token", saying("second"))
		require.NoError(t, err)
		assert.Equal(t, "second", made)
		assert.Equal(t, []string{"token"}, names(t, dir))
	})
	t.Run("after it was in place", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".new-1"), []byte("first\n"), 0o600))
		require.NoError(t, os.Link(filepath.Join(dir, ".new-1"), filepath.Join(dir, "token")))
		made, err := open(t, dir).FileOnce("token", never)
		require.NoError(t, err)
		assert.Equal(t, "first", made)
		assert.Equal(t, []string{"token"}, names(t, dir))
	})
	t.Run("while making the content", func(t *testing.T) {
		f := open(t, t.TempDir())
		_, err := f.FileOnce("token", func() (string, error) { return "", errors.New("no randomness") })
		require.ErrorContains(t, err, "making token: no randomness")
		assert.Empty(t, names(t, f.Dir()))
	})
}

// The lock permits one start at a time, but files are complete even without it.
func TestTheFirstOfManyWins(t *testing.T) {
	const starts = 16
	f := open(t, t.TempDir())
	var group sync.WaitGroup
	got := make([]string, starts)
	errs := make([]error, starts)
	var missing sync.WaitGroup // all find the file missing before the first one writes it
	missing.Add(starts)
	for i := range starts {
		group.Go(func() {
			got[i], errs[i] = f.FileOnce("token", func() (string, error) {
				missing.Done()
				missing.Wait()
				return fmt.Sprint("of start ", i), nil
			})
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	for _, text := range got {
		assert.Equal(t, got[0], text)
	}
	assert.Regexp(t, `^of start \d+$`, got[0])
	assert.Equal(t, []string{"token"}, names(t, f.Dir()))
}

// names returns the files of a folder except those that every start makes.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var found []string
	for _, entry := range entries {
		if entry.Name() != "lock" && entry.Name() != "format.json" {
			found = append(found, entry.Name())
		}
	}
	return found
}
