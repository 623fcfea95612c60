// Package backuptest does to backups what somebody with access to their folder could do.
package backuptest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/backup"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/logcopy"
)

// Forge makes a copy of a backup in which events were changed, and returns its folder. The manifest fits the copy, so that nothing but
// the chain of hashes gives the change away. change is called with each event, in log order, and reports whether it has changed it.
func Forge(t testing.TB, dir string, change func(*eventlog.Recorded) bool) string {
	t.Helper()
	forged := filepath.Join(t.TempDir(), "forged")
	require.NoError(t, os.CopyFS(forged, os.DirFS(dir)))
	folder, m, err := backup.OpenToRead(forged)
	require.NoError(t, err)
	require.NoError(t, folder.Close())
	changed := false
	for i := range m.Log {
		part := &m.Log[i]
		path := filepath.Join(forged, filepath.FromSlash(part.File))
		content, hit := rewritten(t, path, change)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		sum := sha256.Sum256(content)
		part.SHA256, part.Bytes, changed = hex.EncodeToString(sum[:]), int64(len(content)), changed || hit
	}
	require.True(t, changed, "nothing was changed")
	content, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(forged, "manifest.json"), content, 0o600))
	return forged
}

// rewritten returns what a part of the log is after a change.
func rewritten(t testing.TB, path string, change func(*eventlog.Recorded) bool) (content []byte, changed bool) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	unpacked, err := zstd.NewReader(file)
	require.NoError(t, err)
	defer unpacked.Close()
	reader, err := logcopy.NewReader(unpacked)
	require.NoError(t, err)
	var out bytes.Buffer
	packed, err := zstd.NewWriter(&out)
	require.NoError(t, err)
	writer, err := logcopy.NewWriter(packed, reader.Header())
	require.NoError(t, err)
	for event, err := range reader.Events() {
		require.NoError(t, err)
		changed = change(&event) || changed
		require.NoError(t, writer.Write(event))
	}
	require.NoError(t, writer.End())
	require.NoError(t, packed.Close())
	return out.Bytes(), changed
}
