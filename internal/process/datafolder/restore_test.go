package datafolder_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/datafolder"
)

func TestAFolderIsNotUsedBeforeItsRestoreIsComplete(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	begin := func(backup string) (*datafolder.Folder, error) { return datafolder.OpenToRestore(dir, backup) }

	// given a restore that was cut short
	f, err := begin("b1")
	require.NoError(t, err)
	require.NoError(t, f.Close())

	// then no recitald starts there, and no other backup can be restored there
	_, err = datafolder.Open(dir)
	require.ErrorContains(t, err, "repeat recitalctl restore")
	_, err = begin("b2")
	require.ErrorContains(t, err, "another backup")

	// when it is repeated to its end, then recitald starts, and nothing is restored there again
	f, err = begin("b1")
	require.NoError(t, err)
	require.NoError(t, f.EndRestore())
	require.NoError(t, f.Close())
	f, err = datafolder.Open(dir)
	require.NoError(t, err)
	_, err = f.FileOnce("master-key", func() (string, error) { return "x", nil })
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = begin("b1")
	require.ErrorContains(t, err, "is not empty")
}

func TestAFileThatComesInPiecesIsImportedOnce(t *testing.T) {
	f, err := datafolder.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	in := f.Incoming("keyring")
	var taken string
	use := func(from io.Reader) error {
		content, err := io.ReadAll(from)
		taken = string(content)
		return err
	}
	found, err := in.Take(use)
	require.NoError(t, err)
	require.False(t, found)

	// pieces may be repeated, and none may be missing
	for _, offset := range []int64{0, 0, 3, 3} {
		require.NoError(t, in.Put(offset, []byte("abc")))
	}
	require.ErrorIs(t, in.Put(7, []byte("x")), datafolder.ErrGap)
	info, err := os.Stat(f.Path("keyring"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	// after a failure it can be imported again, after a success it is gone
	failed := errors.New("the log is away")
	_, err = in.Take(func(io.Reader) error { return failed })
	require.ErrorIs(t, err, failed)
	require.True(t, in.Waits())
	found, err = in.Take(use)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "abcabc", taken)
	require.False(t, in.Waits())
}
