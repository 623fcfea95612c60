package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// recitaldAt runs a real recitald on a data folder, at an admin address that can be used again.
func recitaldAt(t *testing.T, dataDir, admin, eventStore string) *app.App {
	t.Helper()
	a, err := app.Open(t.Context(), devConfig(dataDir, admin, eventStore), io.Discard)
	require.NoError(t, err)
	return a
}

func devConfig(dataDir, admin, eventStore string) app.Config {
	return app.Config{
		Mode: "dev", HTTPAddr: "127.0.0.1:0", AdminAddr: admin, StandInsAddr: "127.0.0.1:0",
		DataDir: dataDir, SpeechWorker: speechworker.Path(), Engines: 1, Codecs: 1, EventStore: eventStore,
		LongestStream: time.Minute,
	}
}

func TestTheEventsOfTheLog(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given two accounts
	dataDir, admin := pgtest.DataDir(t), unused(t)
	a := recitaldAt(t, dataDir, admin, "")
	environment := []string{"RECITAL_ADMIN_ADDR=" + admin, "RECITAL_DATA_DIR=" + dataDir}
	open := func() (account string) { return opens(t, environment).AccountID }
	mine, other := open(), open()

	// then a table shows the events of one
	got := succeeds(t, environment, "events", "--account", mine, "--wide")
	require.Regexp(t, `^POSITION +TIME +TYPE +STREAM +REVISION +DATA\n`, got.out)
	require.Regexp(t, `account-opened +account-`+mine+` +0 +\{`, got.out)
	require.NotContains(t, got.out, other)

	// and JSON has the unchanged events
	got = succeeds(t, environment, "events", "--stream", "account-"+mine, "--type", "account-opened", "--format", "json")
	var event adminapi.EventReply
	require.NoError(t, json.Unmarshal([]byte(got.out), &event))
	require.Equal(t, "account-"+mine, event.Stream)
	require.Contains(t, string(event.Metadata), `"actor"`)

	// and CSV continues after a position
	got = succeeds(t, environment, "events", "--stream", "account-*", "--after", event.Position, "--format", "csv")
	require.Contains(t, got.out, "account-"+other)
	require.NotContains(t, got.out, event.ID)

	require.Equal(t, 2, recitalctl(t, environment, "events", "--after", "7").code)

	// when it is followed, and recitald is restarted
	following := exec.CommandContext(t.Context(), os.Args[0], "events", "--follow", "--type", "account-opened",
		"--format", "json")
	following.Env = append(environment, asTool+"=1")
	pipe, err := following.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, following.Start())
	lines := bufio.NewScanner(pipe)
	next := func() (stream string) {
		require.True(t, lines.Scan())
		var event adminapi.EventReply
		require.NoError(t, json.Unmarshal(lines.Bytes(), &event))
		return strings.TrimPrefix(event.Stream, "account-")
	}
	for next() != other { // the operator account is before it
	}
	third := open()
	require.Equal(t, third, next())
	require.NoError(t, a.Close())
	a = recitaldAt(t, dataDir, admin, "")
	fourth := open()

	// then each event is shown once, and Ctrl-C ends it
	require.Equal(t, fourth, next())
	require.NoError(t, following.Process.Signal(os.Interrupt))
	require.False(t, lines.Scan())
	require.NoError(t, following.Wait())
	require.NoError(t, a.Close())
}
