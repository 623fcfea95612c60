package main_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/keyring"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/postgres"
)

// refuses starts recitald, which must end, and returns what it says.
func refuses(t *testing.T, data string, flags ...string) string {
	t.Helper()
	s := prepare(t, data)
	s.launch(append([]string{"--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0", "--data-dir=" + data}, flags...))
	t.Cleanup(s.kill)
	s.awaitEnd()
	require.Error(t, s.err)
	return read(t, s.log)
}

var abandonFlag = regexp.MustCompile(`--abandon-keyring=([0-9a-f-]{36})`)

// abandonKeyring returns the flag that a recitald on the same folder asks for, whose keyring was lost.
func (s *server) abandonKeyring() string {
	s.t.Helper()
	flag := abandonFlag.FindString(refuses(s.t, s.data))
	require.NotEmpty(s.t, flag)
	return flag
}

func TestAKeyringThatIsNotTheLogsIsRefused(t *testing.T) {
	t.Parallel()
	// given a log with clips, and a Postgres that was lost
	data := dataFolder(t)
	s := start(t, data)
	c := s.openAccount("indie")
	require.Equal(t, 200, c.post(t, bytesRoute, order{"text": prose(50), "voice": "leah", "debug": true}).status)
	s.kill()
	s.losePostgres()

	// then recitald does not start on an empty one, however often, and says the way out
	for range 2 {
		said := refuses(t, data)
		require.Contains(t, said, "an empty keyring")
		require.Contains(t, said, "Restore the schema keyring")
		require.Regexp(t, abandonFlag, said)
	}
	require.Contains(t, refuses(t, data, "--abandon-keyring=00000000-0000-0000-0000-000000000000"), "Restore the schema keyring", "it names another")

	// when the keyring is abandoned, then it starts, and clips are saved and read again
	flag := s.abandonKeyring()
	s = start(t, data, flag)
	c = c.at(s)
	require.Equal(t, 200, c.post(t, bytesRoute, order{"text": prose(60), "voice": "leah", "debug": true}).status)
	s.eventually(func() bool { return c.clips(t).TotalClips == 2 })
	require.Equal(t, prose(60), *c.clips(t).Clips[0].Text)
	require.Nil(t, c.clips(t).Clips[1].Text)

	// and the log says what was done, when and by whom
	var abandoned []eventlog.Decoded
	eachEvent(t, s.node(), func(event eventlog.Decoded) {
		if _, ok := event.Event.(keyring.Abandoned); ok {
			abandoned = append(abandoned, event)
		}
	})
	require.Len(t, abandoned, 1)
	require.Equal(t, eventlog.ActorOperator, abandoned[0].Meta.Actor.Kind)
	require.NotEmpty(t, abandoned[0].Meta.Actor.Name)
	require.False(t, abandoned[0].Meta.Time.IsZero())

	// and starts without the flag from then on, and with it
	s.interrupt()
	s = start(t, data, flag)
	s.interrupt()
	start(t, data)
}

func TestAKeyringThatWasRestoredFromAnEarlierReleaseIsTheLogs(t *testing.T) {
	t.Parallel()
	// given a keyring that was restored from before keyrings had ids
	data := dataFolder(t)
	s := start(t, data)
	c := s.openAccount("indie")
	require.Equal(t, 200, c.post(t, bytesRoute, order{"text": prose(50), "voice": "leah", "debug": true}).status)
	connection, err := pgx.Connect(t.Context(), postgres.SocketURL(filepath.Join(data, "postgres", "run"), postgres.Database))
	require.NoError(t, err)
	_, err = connection.Exec(t.Context(), "delete from keyring.identity")
	require.NoError(t, err)
	require.NoError(t, connection.Close(t.Context()))
	s.interrupt()

	// when recitald starts, then the two find each other, and nothing is lost
	s = start(t, data)
	c = c.at(s)
	s.eventually(func() bool { return c.clips(t).TotalClips == 1 })
	require.Equal(t, prose(50), *c.clips(t).Clips[0].Text)
}
