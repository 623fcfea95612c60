package app

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
)

func inFolder(dir string) *App { return &App{cfg: Config{DataDir: dir}} }

func saying(text string) func() (string, error) {
	return func() (string, error) { return text, nil }
}

func never() (string, error) { return "", errors.New("made again") }

func TestAFileIsMadeOnceForItsOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	made, err := inFolder(dir).fileOnce("token", saying("first"))
	require.NoError(t, err)
	assert.Equal(t, "first", made)

	again, err := inFolder(dir).fileOnce("token", never)
	require.NoError(t, err)
	assert.Equal(t, "first", again)

	info, err := os.Stat(filepath.Join(dir, "token"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode())
	assert.Equal(t, []string{"token"}, names(t, dir))
}

// A crash before the link leaves half a file beside, one after it the whole file and a second name of it.
func TestAFileIsWholeAfterACrash(t *testing.T) {
	t.Run("before it was in place", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".new-1"), []byte("fir"), 0o600))
		made, err := inFolder(dir).fileOnce("token", saying("second"))
		require.NoError(t, err)
		assert.Equal(t, "second", made)

		require.NoError(t, inFolder(dir).removeUnfinished())
		assert.Equal(t, []string{"token"}, names(t, dir))
	})
	t.Run("after it was in place", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".new-1"), []byte("first\n"), 0o600))
		require.NoError(t, os.Link(filepath.Join(dir, ".new-1"), filepath.Join(dir, "token")))
		made, err := inFolder(dir).fileOnce("token", never)
		require.NoError(t, err)
		assert.Equal(t, "first", made)
	})
	t.Run("of what makes the content", func(t *testing.T) {
		dir := t.TempDir()
		_, err := inFolder(dir).fileOnce("token", func() (string, error) { return "", errors.New("no randomness") })
		require.ErrorContains(t, err, "making token: no randomness")
		assert.Empty(t, names(t, dir))
	})
}

func TestTheFirstOfManyStartsWins(t *testing.T) {
	const starts = 16
	dir := t.TempDir()
	var group sync.WaitGroup
	got := make([]string, starts)
	errs := make([]error, starts)
	var missing sync.WaitGroup // all find the file missing before the first of them writes it
	missing.Add(starts)
	for i := range starts {
		group.Go(func() {
			got[i], errs[i] = inFolder(dir).fileOnce("token", func() (string, error) {
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
	assert.Equal(t, []string{"token"}, names(t, dir))
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}
