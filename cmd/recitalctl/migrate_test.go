package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// eventStore runs an event store on a folder. Its address is free before the first time.
func eventStore(t *testing.T, dir, address string) (stop func()) {
	t.Helper()
	node, err := eventnode.Open(eventnode.Config{
		Dir: filepath.Join(dir, "log"), Socket: nodetest.Socket(dir), Address: address, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return func() { require.NoError(t, node.Close()) }
}

func connection(address string) string { return "esdb://" + address + "?tls=false" }

// logOf returns the events of a log, without fields that a copy does not keep.
func logOf(t *testing.T, config esdb.Config) (lines []string) {
	t.Helper()
	log, err := esdb.Open(config)
	require.NoError(t, err)
	defer log.Close()
	for e, err := range logcopy.Read(t.Context(), log, eventlog.Start(), eventlog.Start()) {
		require.NoError(t, err)
		lines = append(lines, fmt.Sprintf("%s %s %d %s %q %q", e.ID, e.Stream, e.Revision, e.Type, e.Data, e.Metadata))
	}
	return lines
}

func offlineLog(t *testing.T, dataDir string) []string {
	t.Helper()
	socket := nodetest.Socket(nodetest.Dir(t))
	node, err := eventnode.Open(eventnode.Config{
		Dir: filepath.Join(dataDir, "eventnode"), Socket: socket, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Close()) }()
	return logOf(t, esdb.Config{Socket: socket})
}

func TestALogMovesToAnEventStore(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a recitald with an account, and an event store
	dataDir, admin, store := pgtest.DataDir(t), unused(t), unused(t)
	a := recitaldAt(t, dataDir, admin, "")
	environment := []string{
		"RECITAL_ADMIN_ADDR=" + admin, "RECITAL_DATA_DIR=" + dataDir, "RECITAL_EVENTSTORE=" + connection(store),
	}
	account := func() adminapi.OpenResponse { return opens(t, environment, "--plan", "indie") }
	first := account()
	stop := eventStore(t, nodetest.Dir(t), store)
	defer stop()

	// when the log is copied while recitald is running
	got := succeeds(t, environment, "log", "migrate")
	require.Contains(t, got.notes, "repeat with --offline")
	second := account()

	// then the folder cannot be read meanwhile
	got = recitalctl(t, environment, "log", "migrate", "--offline")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.notes, "needs a recitald that is stopped")

	// and recitald does not start with the copy, which lacks the second account
	require.NoError(t, a.Close())
	_, err := app.Open(t.Context(), devConfig(dataDir, admin, connection(store)), io.Discard)
	require.ErrorContains(t, err, "complete it with recitalctl log migrate --offline")

	// and the rest is copied after it is stopped
	got = succeeds(t, environment, "log", "migrate", "--offline")
	require.Contains(t, got.notes, "Set RECITAL_EVENTSTORE")
	before := offlineLog(t, dataDir)
	moved := logOf(t, esdb.Config{ConnectionString: connection(store)})
	require.Equal(t, before, moved[:len(before)])
	require.Len(t, moved, len(before)+1)
	require.Contains(t, moved[len(before)], `log-opened "{\"logId\":`)
	require.Contains(t, moved[len(before)], `\"epoch\":2,`)

	// and it no longer starts with the embedded node
	_, err = app.Open(t.Context(), devConfig(dataDir, admin, ""), io.Discard)
	require.ErrorIs(t, err, eventnode.ErrSealed)
	require.ErrorContains(t, err, "--eventnode-unseal")

	// and recitald continues with the event store, with the same accounts, keys and Postgres
	a = recitaldAt(t, dataDir, admin, connection(store))
	defer func() { require.NoError(t, a.Close()) }()
	for _, opened := range []adminapi.OpenResponse{first, second, account()} {
		require.Eventually(t, func() bool { return isReady(a.PublicAddr()) }, patience, interval)
		require.Equal(t, "indie", planOf(t, a.PublicAddr(), opened.APIKey))
	}

	// and the command refuses to copy into a log that is in use
	got = recitalctl(t, environment, "log", "migrate", "--offline")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.notes, "is already in use as the new place")
}

func TestAnEventStoreWithAnotherLogIsRefused(t *testing.T) {
	t.Parallel()
	dataDir, store := pgtest.DataDir(t), unused(t)
	fill(t, dataDir, 3)
	stop := eventStore(t, nodetest.Dir(t), store)
	defer stop()
	log, err := esdb.Open(esdb.Config{ConnectionString: connection(store)})
	require.NoError(t, err)
	defer log.Close()
	_, err = log.Append(t.Context(), "orders-1", eventlog.NoStream,
		[]eventlog.Proposed{{ID: uuid.New(), Type: "ordered", Data: []byte("{}")}})
	require.NoError(t, err)

	got := recitalctl(t, []string{"RECITAL_DATA_DIR=" + dataDir}, "log", "migrate", "--offline", "--to", connection(store))
	require.Equal(t, 1, got.code)
	require.Contains(t, got.notes, `holds event 0 of stream "orders-1"`)
	require.Len(t, logOf(t, esdb.Config{ConnectionString: connection(store)}), 1, "nothing was written")

	got = recitalctl(t, []string{"RECITAL_DATA_DIR=" + t.TempDir()}, "log", "migrate", "--offline", "--to",
		connection(store))
	require.Equal(t, 2, got.code)
	require.Contains(t, got.notes, "there is no log of an embedded node")
	got = recitalctl(t, []string{"RECITAL_DATA_DIR=" + dataDir}, "log", "migrate", "--offline", "--to",
		"esdb://admin:secret@")
	require.Equal(t, 2, got.code)
	require.NotContains(t, got.notes, "secret")
}

// fill writes a log of events that are appended one by one, in alternating streams.
func fill(t *testing.T, dataDir string, events int) {
	t.Helper()
	dir := filepath.Join(dataDir, "eventnode")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	socket := nodetest.Socket(nodetest.Dir(t))
	node, err := eventnode.Open(eventnode.Config{Dir: dir, Socket: socket, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Close()) }()
	log, err := esdb.Open(esdb.Config{Socket: socket})
	require.NoError(t, err)
	defer log.Close()
	registry, err := eventlog.NewRegistry(eventlog.LogOpenedType())
	require.NoError(t, err)
	_, err = eventlog.Identify(t.Context(), log, registry, uuid.New(), time.Now())
	require.NoError(t, err)
	for i := range events {
		_, err := log.Append(t.Context(), fmt.Sprint("s-", i%7), eventlog.Revision(i/7-1), []eventlog.Proposed{
			{ID: uuid.New(), Type: "told", Data: fmt.Appendf(nil, `{"i": %d}`, i), Metadata: []byte(`{"v":1}`)},
		})
		require.NoError(t, err)
	}
}

// A migration that is killed or stopped at any point is completed by a repetition.
func TestAnInterruptedMigrationIsResumed(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	const events = 6000
	dataDir, store, folder := pgtest.DataDir(t), unused(t), nodetest.Dir(t)
	fill(t, dataDir, events)
	before := offlineLog(t, dataDir)
	stop := eventStore(t, folder, store)
	target, err := esdb.Open(esdb.Config{ConnectionString: connection(store)})
	require.NoError(t, err)
	defer target.Close()
	migrate := func() *exec.Cmd {
		tool := exec.CommandContext(t.Context(), os.Args[0], "log", "migrate", "--offline", "--to", connection(store))
		tool.Env = []string{asTool + "=1", "RECITAL_DATA_DIR=" + dataDir}
		require.NoError(t, tool.Start())
		return tool
	}
	arrived := func(count int) { // waits for an event near this number
		require.Eventually(t, func() bool {
			for range target.ReadStream(t.Context(), fmt.Sprint("s-", count%7), uint64(count/7)) {
				return true
			}
			return false
		}, patience, time.Millisecond)
	}

	// when the tool is killed
	tool := migrate()
	arrived(300)
	require.NoError(t, tool.Process.Kill())
	_ = tool.Wait() // it was killed

	// and the event store is briefly stopped during the next run
	tool = migrate()
	arrived(900)
	stop()
	there, err := net.Listen("tcp", store)
	require.NoError(t, err, "the address is kept")
	require.NoError(t, there.Close())
	stop = eventStore(t, folder, store)
	defer func() { stop() }()
	_ = tool.Wait() // it may have resumed by itself

	// then a repetition completes the log, with each event once
	tool = migrate()
	err = tool.Wait()
	moved := logOf(t, esdb.Config{ConnectionString: connection(store)})
	require.Equal(t, strings.Join(before, "\n"), strings.Join(moved[:len(moved)-1], "\n"))
	require.Contains(t, moved[len(moved)-1], "log-opened")
	if err != nil { // the previous run was complete
		require.Equal(t, 1, tool.ProcessState.ExitCode())
	}
}
