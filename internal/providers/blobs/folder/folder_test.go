package folder_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/blobtest"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

const owner blobs.Owner = "clip-0123456789abcdef"

func TestMain(m *testing.M) {
	if dir := os.Getenv(dieVariable); dir != "" {
		dieWriting(dir)
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, dir, instance string) *folder.Store {
	t.Helper()
	store, err := folder.Open(folder.Config{Dir: dir, Instance: instance, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return store
}

func put(t testing.TB, store *folder.Store, content string) blobs.Blob {
	t.Helper()
	blob, err := store.Put(t.Context(), blobs.NewAddress(owner), strings.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	return blob
}

// files returns the paths of all files in a folder.
func files(t testing.TB, dir string) (paths []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			paths = append(paths, path)
		}
		return err
	}))
	return paths
}

func TestTheContract(t *testing.T) {
	folders := map[string]string{} // by test
	blobtest.Run(t, func(t *testing.T) blobs.Store {
		if folders[t.Name()] == "" {
			folders[t.Name()] = filepath.Join(t.TempDir(), "blobs")
		}
		return open(t, folders[t.Name()], "a")
	})
}

// dieVariable makes the test binary a writer that dies in the middle of a blob.
const dieVariable = "RECITAL_TEST_DIE_WRITING"

func dieWriting(dir string) {
	store, err := folder.Open(folder.Config{Dir: dir, Instance: "killed", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	source := io.MultiReader(strings.NewReader(strings.Repeat("half ", 100_000)), killer{})
	_, err = store.Put(context.Background(), blobs.NewAddress(owner), source, 500_001)
	fmt.Println("still alive", err)
	os.Exit(1)
}

func TestACrashLeavesNoHalfBlobAndTheNextStartCleansUp(t *testing.T) {
	// given a process that was killed while writing
	dir := t.TempDir()
	crash := exec.Command(os.Args[0])
	crash.Env = append(os.Environ(), dieVariable+"="+dir)
	output, err := crash.CombinedOutput()
	var died *exec.ExitError
	require.ErrorAs(t, err, &died, "%s", output)
	require.Equal(t, syscall.SIGKILL, died.Sys().(syscall.WaitStatus).Signal(), "%s", output)
	require.Len(t, files(t, dir), 1)

	// then another instance, which may run at the same time, sees no blob and leaves the file alone
	other := open(t, dir, "other")
	for range other.List(t.Context(), "") {
		require.Fail(t, "half a blob is listed")
	}
	require.Len(t, files(t, dir), 1)

	// and the same instance removes it
	store := open(t, dir, "killed")
	require.Empty(t, files(t, dir))
	put(t, store, "goes on")
}

func TestTemporaryFilesOfVanishedInstancesAreEventuallyRemoved(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, "a")
	left := filepath.Join(dir, "incoming", "0011223344556677-1234")
	require.NoError(t, os.WriteFile(left, []byte("left"), 0o600))
	open(t, dir, "a")
	require.FileExists(t, left, "its instance may still be writing it")
	yesterday := time.Now().Add(-25 * time.Hour)
	require.NoError(t, os.Chtimes(left, yesterday, yesterday))
	open(t, dir, "a")
	require.NoFileExists(t, left)
}

func TestBlobsAreReadableOnlyByTheirOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	put(t, open(t, dir, "a"), "private")
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, path)
		return nil
	}))
}

func TestFilesThatAreNoBlobsAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir, "a")
	blob := put(t, store, "one")
	require.NotEqual(t, "ab", filepath.Base(filepath.Dir(files(t, dir)[0])))
	for _, name := range []string{
		"README", "kept/README", "kept/clip/README", "kept/clip/ab/notes.txt", "kept/clip/ab/" + string(blob.Address),
		"kept/lost+found/x", "lost+found/x",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	var listed []blobs.Address
	for found, err := range store.List(t.Context(), "") {
		require.NoError(t, err)
		listed = append(listed, found.Address)
	}
	require.Equal(t, []blobs.Address{blob.Address}, listed)
}

func TestAFullDiskCostsOnlyTheNewBlob(t *testing.T) {
	// given a disk with little space
	dir := smallDisk(t)
	store := open(t, dir, "a")
	kept := put(t, store, "was there before")

	// when a blob does not fit
	_, err := store.Put(t.Context(), blobs.NewAddress(owner), io.LimitReader(zeros{}, 4<<20), 4<<20)

	// then the store fails, no part of the blob remains, and a smaller one can still be stored
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
	require.Len(t, files(t, dir), 1)
	put(t, store, "fits")
	reader, err := store.Open(t.Context(), kept.Address, 0, 100)
	require.NoError(t, err)
	defer reader.Close()
	content, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Equal(t, "was there before", string(content))
}

func TestAFailingDiskMakesTheStoreUnavailable(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir, "a")
	blob := put(t, store, "one")

	// given a folder in place of the blob's file, so that reading fails
	path := files(t, dir)[0]
	require.Equal(t, string(blob.Address), filepath.Base(path))
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.MkdirAll(filepath.Join(path, "below"), 0o700))
	reader, err := store.Open(t.Context(), blob.Address, 0, 10)
	require.NoError(t, err)
	defer reader.Close()
	_, err = io.ReadAll(reader)
	require.ErrorIs(t, err, syscall.EISDIR)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
	require.Equal(t, domain.Unavailable, domain.CodeOf(store.Delete(t.Context(), blob.Address)))
	_, err = store.Put(t.Context(), blob.Address, strings.NewReader("one"), 3)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
	require.Empty(t, files(t, dir))

	// given no folder at all
	require.NoError(t, os.RemoveAll(dir))
	_, err = store.Put(t.Context(), blobs.NewAddress(owner), strings.NewReader("two"), 3)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
	for _, prefix := range []string{"", "clip-", owner.Prefix()} {
		var last error
		for _, err := range store.List(t.Context(), prefix) {
			last = err
		}
		require.Equal(t, domain.Unavailable, domain.CodeOf(last))
	}
}

// killer ends the process without cleaning up.
type killer struct{}

func (killer) Read([]byte) (int, error) {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// smallDisk mounts a file system of 1 MiB, in memory.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m")
	if errors.Is(err, syscall.EPERM) {
		bintest.Missing(t, "mounting a small disk needs root")
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}
