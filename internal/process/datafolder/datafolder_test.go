package datafolder_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/datafolder"
)

func TestOtherUsersMayPassThroughTheFolder(t *testing.T) {
	before := syscall.Umask(0o022)
	t.Cleanup(func() { syscall.Umask(before) })
	t.Chdir(t.TempDir())
	f := open(t, filepath.Join("below", "data"))
	require.True(t, filepath.IsAbs(f.Dir()))
	require.Equal(t, filepath.Join(f.Dir(), "eventnode", "log"), f.Path("eventnode", "log"))
	info, err := os.Stat(f.Dir())
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o711), info.Mode().Perm())
	info, err = os.Stat(f.Path("lock"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
}

func TestAFolderHasOneUser(t *testing.T) {
	// given a folder in use, with a file that its user is writing
	f := open(t, t.TempDir())
	require.NoError(t, os.WriteFile(f.Path(".new-1"), nil, 0o600))

	// when another recitald opens it, then it gets a readable error, and nothing is touched
	_, err := datafolder.Open(f.Dir())
	require.EqualError(t, err, "another recitald works in "+f.Dir()+"; stop it, or give this one a folder "+
		"of its own with --data-dir")
	assert.FileExists(t, f.Path(".new-1"))

	// and it succeeds after the first one has closed the folder
	assert.NoFileExists(t, reopen(t, f).Path(".new-1"))
}

// A child that is being started has duplicates of its parent's descriptors for a moment.
func TestAClosedFolderIsFreeWhileAChildStarts(t *testing.T) {
	f, err := datafolder.Open(t.TempDir())
	require.NoError(t, err)
	end, err := f.ShareLock()
	require.NoError(t, err)
	defer func() { require.NoError(t, end()) }()
	require.NoError(t, f.Close())
	open(t, f.Dir())
}

func TestAFileInPlaceOfTheFolderIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := datafolder.Open(file)
	require.ErrorContains(t, err, "not a directory")
}

// The system needs a moment to clean up after a killed recitald: an immediate restart waits for the lock.
func TestAStartWaitsForTheLockOfAnEndingProcess(t *testing.T) {
	f, err := datafolder.Open(t.TempDir())
	require.NoError(t, err)
	ended := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { ended <- f.Close() })
	open(t, f.Dir())
	require.NoError(t, <-ended)
}
