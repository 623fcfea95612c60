package backup

import (
	"bufio"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A full disk fails every file of a list, but is reported only once.
func TestAFullDiskIsReportedOnce(t *testing.T) {
	l := listing{files: map[string]*os.File{}, outs: map[string]*bufio.Writer{}}
	for _, shard := range []string{"00", "7f", "ff"} {
		file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		l.files[shard], l.outs[shard] = file, bufio.NewWriter(file)
		_, err = l.outs[shard].WriteString("{}\n")
		require.NoError(t, err)
	}

	err := l.close()

	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, 1, strings.Count(err.Error(), "no space left"), err.Error())
	for _, file := range l.files {
		require.ErrorIs(t, file.Close(), os.ErrClosed)
	}
}
