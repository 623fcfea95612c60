package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// If the log is replaced by an older copy, the next start reports the missing events, by means of Postgres or of the
// data folder.
func TestAnOlderCopyOfTheLogIsReported(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a copy of a log
	data := dataFolder(t)
	log, older := filepath.Join(data, "eventnode"), filepath.Join(t.TempDir(), "eventnode")
	first := start(t, data, "--engines=1")
	first.openAccount("free")
	first.interrupt()
	require.NoError(t, os.CopyFS(older, os.DirFS(log)))

	for _, lost := range []string{"nothing else", "seen.json", "postgres"} {
		// and more events, after which the log is replaced by the copy
		more := start(t, data, "--engines=1")
		require.NotContains(t, read(t, more.log), "put_back")
		more.openAccount("free")
		more.interrupt()
		require.NoError(t, os.RemoveAll(log))
		require.NoError(t, os.CopyFS(log, os.DirFS(older)))
		require.NoError(t, os.RemoveAll(filepath.Join(data, lost)))

		// when recitald starts, then one line reports the missing bytes, and it serves
		again := start(t, data, "--engines=1")
		if lost == "postgres" {
			again.abandonKeyring()
		}
		again.eventually(func() bool { return strings.Contains(read(t, again.log), "reason=put_back") })
		require.Regexp(t, `reason=put_back detail="\d+ bytes .* are missing`, read(t, again.log), "without %s", lost)
		again.eventually(func() bool {
			return strings.Contains(string(again.recitalctl("alerts", "--format", "json")), `"put_back"`)
		})
		again.openAccount("free")
		require.Equal(t, 1, strings.Count(read(t, again.log), "put_back"))
		var named []string
		for _, line := range disowned.FindAllStringSubmatch(read(t, again.log), -1) {
			named = append(named, strings.Fields(line[1])...)
		}
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(named))), len(named), "each read model is named once: %s",
			named)
		again.interrupt()

		// and the next start reports no missing events
		next := start(t, data, "--engines=1")
		next.openAccount("free")
		next.interrupt()
		require.NotContains(t, read(t, next.log), "put_back")
	}
}

// disowned matches the names of the read models that are not of the current log.
var disowned = regexp.MustCompile(`not of this log.*projections="?\[([^]]*)\]`)

// An older copy of the log that has grown past its former length lacks events that were signed.
func TestALogWithoutASignedEventIsReported(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data := dataFolder(t)
	first := start(t, data, "--engines=1")
	first.openAccount("free")
	first.interrupt()
	seen, last := filepath.Join(data, "seen.json"), regexp.MustCompile(`("last":{"id":")[^"]*`)
	noted := read(t, seen)
	require.Regexp(t, last, noted)
	require.NoError(t, os.WriteFile(seen, []byte(last.ReplaceAllString(noted, "${1}"+uuid.NewString())), 0o600))

	again := start(t, data, "--engines=1")
	again.eventually(func() bool { return strings.Contains(read(t, again.log), "reason=put_back") })
	require.Regexp(t, `reason=put_back detail="the last event of the signed head of \d+ events`, read(t, again.log))
	again.openAccount("free")
}
