package spool_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/http/spool"
)

const mib = 1 << 20

func open(t testing.TB, budget, most int64) *spool.Spool {
	t.Helper()
	s, err := spool.Open(spool.Config{Dir: filepath.Join(t.TempDir(), "spool"), Budget: budget, MaxFile: most})
	require.NoError(t, err)
	return s
}

func create(t require.TestingT, s *spool.Spool, owner string, expected int64) *spool.File {
	f, err := s.Create(owner, expected)
	require.NoError(t, err)
	return f
}

func write(t testing.TB, f *spool.File, size int) {
	t.Helper()
	_, err := f.Write(make([]byte, size))
	require.NoError(t, err)
}

func TestAFileHasTheWrittenContent(t *testing.T) {
	s := open(t, 64*mib, 64*mib)
	rapid.Check(t, func(t *rapid.T) {
		f := create(t, s, "a", rapid.Int64Range(0, mib).Draw(t, "expected"))
		defer f.Close()
		var want []byte
		for i, size := range rapid.SliceOf(rapid.IntRange(0, 300<<10)).Draw(t, "sizes") {
			part := bytes.Repeat([]byte{byte(i + 1)}, size)
			_, err := f.Write(part)
			require.NoError(t, err)
			want = append(want, part...)
			clear(part) // the writer may reuse the buffer
		}
		f.Finish()
		if len(want) > 2 {
			require.NoError(t, f.Overwrite([]byte("xy"), int64(len(want)-2)))
			copy(want[len(want)-2:], "xy")
		}
		require.ErrorIs(t, f.Overwrite([]byte("x"), int64(len(want))), io.ErrShortWrite)
		require.EqualValues(t, len(want), f.Size())
		require.EqualValues(t, len(want), s.Claimed(), "unneeded space is released")
		for range 2 {
			var got bytes.Buffer
			n, err := f.WriteTo(&got)
			require.NoError(t, err)
			require.EqualValues(t, len(want), n)
			require.True(t, bytes.Equal(want, got.Bytes()))
			read, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, read))
		}
	})
	require.Zero(t, s.Claimed())
}

func TestAFullSpoolRefusesOnlyNewFiles(t *testing.T) {
	// given files that claim all space for new ones
	s := open(t, 16*mib, 8*mib)
	held := create(t, s, "a", 4*mib)
	others := []*spool.File{create(t, s, "b", 4*mib), create(t, s, "c", 4*mib)}

	// when another file is created, then there is no space until one is closed
	_, err := s.Create("d", 1)
	require.ErrorIs(t, err, spool.ErrFull)
	others[0].Close()
	others[0].Close()
	f := create(t, s, "d", 4*mib)

	// and existing files get their claimed space, and more from the reserve
	write(t, held, 7*mib)
	write(t, f, 4*mib)
	// but not more than the budget
	write(t, others[1], 4*mib)
	_, err = f.Write(make([]byte, 4*mib))
	require.ErrorIs(t, err, spool.ErrFull)
	require.LessOrEqual(t, s.Claimed(), int64(16*mib))
	for _, f := range []*spool.File{held, f, others[1]} {
		f.Close()
	}
	require.Zero(t, s.Claimed())
}

func TestAnOwnerHasAShare(t *testing.T) {
	s := open(t, 16*mib, 8*mib)
	large := create(t, s, "a", 8*mib) // the first one may be larger than the share
	_, err := s.Create("a", 1)
	require.ErrorIs(t, err, spool.ErrShare)
	create(t, s, "b", 4*mib).Close()
	large.Finish()
	create(t, s, "a", 4*mib).Close()
}

func TestAFileHasALimit(t *testing.T) {
	s := open(t, 16*mib, mib)
	f := create(t, s, "a", 64*mib)
	require.EqualValues(t, mib, s.Claimed())
	write(t, f, mib)
	_, err := f.Write([]byte{1})
	require.ErrorIs(t, err, spool.ErrTooLarge)
	f.Close()
	_, err = f.Write([]byte{1})
	require.Error(t, err)
}

func TestNoFileIsLeftOnTheDisk(t *testing.T) {
	// given the files of a killed process
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "reply-1"), []byte("audio"), 0o600))
	s, err := spool.Open(spool.Config{Dir: dir, Budget: 16 * mib, MaxFile: mib})
	require.NoError(t, err)
	f := create(t, s, "a", 0)
	write(t, f, mib)

	// then no file has a name, not even one in use
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	f.Close()
	_, err = f.WriteTo(io.Discard)
	require.Error(t, err)
}

func TestAFileIsClosedWhileItIsUsed(t *testing.T) {
	s := open(t, 64*mib, 8*mib)
	for range 50 {
		f := create(t, s, "a", 0)
		var closing sync.WaitGroup
		closing.Go(f.Close)
		for range 4 {
			_, _ = f.Write(make([]byte, 100<<10))
		}
		f.Finish()
		_, _ = f.WriteTo(io.Discard)
		closing.Wait()
	}
	require.Zero(t, s.Claimed())
}

func TestManySmallFilesAreNotAllInMemory(t *testing.T) {
	s := open(t, 1024*mib, mib)
	var files []*spool.File
	for range 300 {
		f := create(t, s, "a", 10)
		write(t, f, 10)
		files = append(files, f)
	}
	for _, f := range files {
		var got bytes.Buffer
		_, err := f.WriteTo(&got)
		require.NoError(t, err)
		require.Len(t, got.Bytes(), 10)
		f.Close()
	}
}
