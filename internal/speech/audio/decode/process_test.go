//go:build cgo

package decode_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/procfs"
	"github.com/recital-tts/recital/internal/speech/audio"
)

func requireFault(t testing.TB, fault audio.Fault, err error) {
	t.Helper()
	var unusable *audio.UnusableError
	require.ErrorAs(t, err, &unusable)
	require.Equal(t, fault, unusable.Fault, "%v", err)
}

func itoa(n int) string { return strconv.Itoa(n) }

// decoder returns the id of the only process of the test.
func decoder(t testing.TB) int {
	t.Helper()
	children := procfs.Children(os.Getpid())
	require.Len(t, children, 1)
	return children[0]
}

func signalDecoder(t testing.TB, signal syscall.Signal) {
	t.Helper()
	require.NoError(t, syscall.Kill(decoder(t), signal))
}

// ofDecoder returns the content of the process's file in /proc.
func ofDecoder(t testing.TB, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("/proc", itoa(decoder(t)), file))
	require.NoError(t, err)
	return string(content)
}
