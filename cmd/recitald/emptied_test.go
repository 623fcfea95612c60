package main_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// emptyPostgres drops the database of a running recitald and creates it again.
func (s *server) emptyPostgres() {
	s.t.Helper()
	beside, err := pgx.Connect(s.t.Context(), postgres.SocketURL(filepath.Join(s.data, "postgres", "run"), "postgres"))
	require.NoError(s.t, err)
	defer beside.Close(s.t.Context())
	name := pgx.Identifier{postgres.Database}.Sanitize()
	for _, statement := range []string{"drop database " + name + " with (force)", "create database " + name} {
		_, err = beside.Exec(s.t.Context(), statement)
		require.NoError(s.t, err)
	}
}

// A Postgres that is emptied under a running recitald is used again, without a restart, once it has the log's keyring.
func TestAPostgresThatIsEmptiedIsUsedAgainOnceItHasTheKeyring(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given an account with a clip, and a backup
	s := start(t, dataFolder(t))
	c := s.openAccount("indie")
	clip := c.saveClip(t, "Zyzzogeton sings.")
	spoken := c.usage(t)
	dir := filepath.Join(t.TempDir(), "backup")
	s.backup(dir)
	before := read(t, s.log)
	began := time.Now()

	// when the database is emptied, then the instance is not ready, with the reason, and still serves speech
	s.emptyPostgres()
	s.eventually(s.lacks("the log's keyring"))
	require.Equal(t, 200, c.post(t, bytesRoute, order{"text": "Hello.", "voice": "leah"}).status)
	s.eventually(func() bool {
		return strings.Contains(s.metrics(), `recital_alert_open{reason="unreachable",source="postgres"} 1`)
	})

	// and its log repeats no line endlessly
	lines := map[string]int{}
	for line := range strings.Lines(strings.TrimPrefix(read(t, s.log), before)) {
		if _, message, found := strings.Cut(line, " msg="); found && !strings.HasPrefix(message, "request") {
			message, _, _ = strings.Cut(message, " after=")
			message, _, _ = strings.Cut(message, " error=")
			lines[message]++
		}
	}
	for line, count := range lines {
		require.LessOrEqual(t, count, 5+int(time.Since(began)/(10*time.Second)), line)
	}

	// when the keyring of the backup is imported, then the instance recovers without a restart
	require.Contains(t, string(s.recitalctl("keyring", "import", dir)), s.keyring().Log)
	s.eventually(s.isReady)
	require.GreaterOrEqual(t, c.usage(t), spoken+6)
	shown := c.clips(t)
	require.Equal(t, 1, shown.TotalClips)
	require.Contains(t, shown.Clips[0].URL, clip)
	require.Equal(t, "Zyzzogeton sings.", *shown.Clips[0].Text)
	s.eventually(func() bool {
		return strings.Contains(s.metrics(), `recital_alert_open{reason="unreachable",source="postgres"} 0`)
	})
	require.Equal(t, 200, c.post(t, bytesRoute, order{"text": "Hello.", "voice": "leah", "debug": true}).status)
}

// An import succeeds as soon as the instance reports the missing keyring, because its tables exist by then.
func TestAKeyringIsImportedAsSoonAsItIsMissed(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t), "--engines=1")
	dir := filepath.Join(t.TempDir(), "backup")
	s.backup(dir)
	for range 3 {
		s.emptyPostgres()
		s.eventually(s.lacks("the log's keyring"))
		require.Contains(t, string(s.recitalctl("keyring", "import", dir)), s.keyring().Log)
		s.eventually(s.isReady)
	}
}
