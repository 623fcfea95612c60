// Package backuptest manipulates backups like an attacker with access to their folder.
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

	"github.com/recital-tts/recital/internal/events/backup"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
)

// Forge copies a backup with changed events, and returns the copy's folder. The manifest fits the copy, so that only
// the chain of hashes reveals the change. change is called with each event, in log order, and reports whether it has
// changed it.
func Forge(t testing.TB, dir string, change func(*eventlog.Recorded) bool) string {
	t.Helper()
	changed := false
	forged := Rewrite(t, dir, func(events []eventlog.Recorded) []eventlog.Recorded {
		for i := range events {
			changed = change(&events[i]) || changed
		}
		return events
	})
	require.True(t, changed, "nothing was changed")
	return forged
}

// Rewrite copies a backup, replacing the events of each part of the log by the result of change, and returns the copy's
// folder. Events get the positions of the original part, in order, and further events follow. The manifest fits the
// copy.
func Rewrite(t testing.TB, dir string, change func([]eventlog.Recorded) []eventlog.Recorded) string {
	t.Helper()
	forged := filepath.Join(t.TempDir(), "forged")
	require.NoError(t, os.CopyFS(forged, os.DirFS(dir)))
	folder, m, err := backup.OpenToRead(forged)
	require.NoError(t, err)
	require.NoError(t, folder.Close())
	after := eventlog.Start()
	m.Events = 0
	for i := range m.Log {
		part := &m.Log[i]
		path := filepath.Join(forged, filepath.FromSlash(part.File))
		events := placed(after, change(read(t, path)))
		content := written(t, logcopy.Header{Identity: m.Identity(), After: after}, events)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		sum := sha256.Sum256(content)
		part.SHA256, part.Bytes, part.Events = hex.EncodeToString(sum[:]), int64(len(content)), uint64(len(events))
		if len(events) > 0 {
			after = events[len(events)-1].Position
		}
		part.Position = after.String()
		m.Events += part.Events
	}
	content, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(forged, "manifest.json"), content, 0o600))
	return forged
}

// placed returns events with ascending positions: their own, where possible.
func placed(after eventlog.Position, events []eventlog.Recorded) []eventlog.Recorded {
	for i := range events {
		if p := &events[i].Position; p.Compare(after) <= 0 {
			*p = eventlog.Position{Commit: after.Commit + 1, Prepare: after.Prepare + 1}
		}
		after = events[i].Position
	}
	return events
}

// read returns the events of a part of the log.
func read(t testing.TB, path string) (events []eventlog.Recorded) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	unpacked, err := zstd.NewReader(file)
	require.NoError(t, err)
	defer unpacked.Close()
	reader, err := logcopy.NewReader(unpacked)
	require.NoError(t, err)
	for event, err := range reader.Events() {
		require.NoError(t, err)
		events = append(events, event)
	}
	return events
}

// written returns a part of the log.
func written(t testing.TB, header logcopy.Header, events []eventlog.Recorded) []byte {
	t.Helper()
	var out bytes.Buffer
	packed, err := zstd.NewWriter(&out)
	require.NoError(t, err)
	writer, err := logcopy.NewWriter(packed, header)
	require.NoError(t, err)
	for _, event := range events {
		require.NoError(t, writer.Write(event))
	}
	require.NoError(t, writer.End())
	require.NoError(t, packed.Close())
	return out.Bytes()
}
