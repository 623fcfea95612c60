package esdb_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/testing/testlog"
)

func TestHeadLeavesOutSystemEvents(t *testing.T) {
	log := open(t, esdb.Config{Socket: nodetest.Start(t)})
	ctx := within(t, patience)
	head := func() eventlog.Position {
		position, err := log.Head(ctx)
		require.NoError(t, err)
		return position
	}
	system := func(n int) {
		events := make([]eventlog.Proposed, n)
		for i := range events {
			events[i] = eventlog.Proposed{ID: uuid.New(), Type: "$statsCollected", Data: []byte("{}")}
		}
		_, err := log.Append(ctx, "$stats-"+uuid.NewString(), eventlog.NoStream, events)
		require.NoError(t, err)
	}
	require.Equal(t, eventlog.Start(), head(), "an empty log")

	system(40)
	require.Equal(t, eventlog.Start(), head(), "a log with only system events")

	ours, err := log.Append(ctx, "s", eventlog.NoStream, event("ours"))
	require.NoError(t, err)
	require.Equal(t, ours.Position, head())

	system(1000) // more than a page
	require.Equal(t, ours.Position, head())
}

// A foreign client may delete a stream. Both ways to the node say so.
func TestDeletedStreamsAreNamedAsSuch(t *testing.T) {
	dir := nodetest.Dir(t)
	node, err := eventnode.Open(eventnode.Config{Dir: dir, Socket: nodetest.Socket(dir), Address: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	server := "esdb://" + node.Addr().String() + "?tls=false"
	conf, err := es.ParseConnectionString(server)
	require.NoError(t, err)
	foreign, err := es.NewClient(conf)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, foreign.Close()) })
	for name, conf := range map[string]esdb.Config{
		"socket": {Socket: nodetest.Socket(dir)}, "library": {ConnectionString: server},
	} {
		t.Run(name, func(t *testing.T) {
			log := open(t, conf)
			ctx := within(t, patience)
			_, err := log.Append(ctx, name, eventlog.NoStream, event("ours"))
			require.NoError(t, err)
			_, err = foreign.TombstoneStream(ctx, name, es.TombstoneStreamOptions{ExpectedRevision: es.Any{}})
			require.NoError(t, err)

			for _, err = range log.ReadStream(ctx, name, 0) {
				require.ErrorContains(t, err, "the stream was deleted")
			}
			require.Error(t, err)
			_, err = log.Append(ctx, name, eventlog.NoStream, event("more"))
			require.ErrorContains(t, err, "the stream was deleted")
		})
	}
}

func TestTheServersLimitOnAppendsIsTooLargeToo(t *testing.T) {
	log := open(t, esdb.Config{Socket: nodetest.Start(t), MaxAppendBytes: 1 << 30})
	for name, size := range map[string]int{"the event store's": 2 << 20, "one message's": 20 << 20} {
		t.Run(name, func(t *testing.T) {
			large := event("large")
			large[0].Data = []byte(`"` + strings.Repeat("x", size) + `"`)
			_, err := log.Append(within(t, patience), "s", eventlog.NoStream, large)
			require.ErrorIs(t, err, eventlog.ErrTooLarge)
		})
	}
}

func TestInstancesThatStartTogetherAgreeOnTheIdentity(t *testing.T) {
	registry, err := eventlog.NewRegistry(eventlog.LogOpenedType())
	require.NoError(t, err)
	socket := nodetest.Start(t)
	const instances = 8
	found := make([]eventlog.Identity, instances)
	ids := make([]uuid.UUID, instances)
	var wait sync.WaitGroup
	for i := range instances {
		log := open(t, esdb.Config{Socket: socket})
		ids[i] = uuid.New()
		wait.Go(func() {
			var err error
			if found[i], err = eventlog.Identify(within(t, patience), log, registry, ids[i], time.Now()); err != nil {
				t.Errorf("instance %d: %v", i, err)
			}
		})
	}
	wait.Wait()
	for _, identity := range found {
		require.Equal(t, found[0], identity)
	}
	require.Contains(t, ids, found[0].LogID)
	require.Equal(t, 1, found[0].Epoch)

	t.Run("a restore opens the next epoch", func(t *testing.T) {
		log := open(t, esdb.Config{Socket: socket})
		system := eventlog.Actor{Kind: eventlog.ActorSystem}
		second := eventlog.Identity{LogID: found[0].LogID, Epoch: 2}
		for range 2 { // a repetition has no effect
			next, err := eventlog.NextEpoch(within(t, patience), log, registry, found[0], system, time.Now())
			require.NoError(t, err)
			require.Equal(t, second, next)
		}
		identity, err := eventlog.Identify(within(t, patience), log, registry, uuid.New(), time.Now())
		require.NoError(t, err)
		require.Equal(t, second, identity)
		_, err = eventlog.NextEpoch(within(t, patience), log, registry, eventlog.Identity{LogID: uuid.New(), Epoch: 1},
			system, time.Now())
		require.Error(t, err, "it is another log")
	})
}

func TestOpenRefusesWhatItCannotUse(t *testing.T) {
	const password = "hunter2"
	tests := map[string]esdb.Config{
		"nothing":           {},
		"both":              {ConnectionString: "esdb://localhost", Socket: "s"},
		"another scheme":    {ConnectionString: "postgres://admin:" + password + "@localhost"},
		"a bad port":        {ConnectionString: "esdb://admin:" + password + "@localhost:port"},
		"a bad escape":      {ConnectionString: "esdb://admin:" + password + "%zz@localhost"},
		"half a client key": {ConnectionString: "esdb://admin:" + password + "@localhost?userCertFile=cert"},
	}
	for name, conf := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := esdb.Open(conf)
			require.Error(t, err)
			require.NotContains(t, err.Error(), password)
		})
	}
}

// Logs and errors never contain event data, even for errors of the event store.
func TestLogsAndErrorsHoldNoEventData(t *testing.T) {
	const secret = "jane@example.org"
	node := startRestartable(t)
	var written testlog.Buffer
	log := open(t, esdb.Config{
		Socket: nodetest.Socket(node.dir),
		Logger: slog.New(slog.NewTextHandler(&written, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	ctx := within(t, patience)
	private := event(secret)
	private[0].Metadata = fmt.Appendf(nil, `{"actor":%q}`, secret)
	var errs []error
	try := func(expected eventlog.Revision, stream string) {
		_, err := log.Append(ctx, stream, expected, private)
		errs = append(errs, err)
	}
	try(eventlog.NoStream, "s")
	try(5, "s")
	private[0].Type = ""
	try(0, "s")
	private[0].Type = "outage-tested"
	try(0, "")
	node.down()
	try(0, "s")
	_, err := log.Head(ctx)
	errs = append(errs, err)

	require.NoError(t, errs[0])
	for _, err := range errs[1:] {
		require.Error(t, err)
		require.NotContains(t, err.Error(), secret)
	}
	require.NotEmpty(t, written.String())
	require.NotContains(t, written.String(), secret)
}
