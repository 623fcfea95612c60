package esdb_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventlog/logtest"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// patience limits waits on a busy machine. It is not a measurement.
const patience = time.Minute

// restartable is a node that can stop and restart on its socket, with its log.
type restartable struct {
	t    *testing.T
	dir  string
	node *eventnode.Node
}

func startRestartable(t *testing.T) *restartable {
	r := newRestartable(t)
	r.up()
	return r
}

func newRestartable(t *testing.T) *restartable {
	r := &restartable{t: t, dir: nodetest.Dir(t)}
	t.Cleanup(func() {
		if r.node != nil {
			r.down()
		}
	})
	return r
}

func (r *restartable) up() { r.node = nodetest.Open(r.t, r.dir) }

func (r *restartable) down() {
	require.NoError(r.t, r.node.Close())
	r.node = nil
}

func (r *restartable) client() *esdb.Client {
	return open(r.t, esdb.Config{Socket: nodetest.Socket(r.dir), BreakerPause: 50 * time.Millisecond,
		MaxBackOff: 100 * time.Millisecond, Patience: 200 * time.Millisecond})
}

func event(name string) []eventlog.Proposed {
	return []eventlog.Proposed{{ID: uuid.New(), Type: "outage-tested", Data: fmt.Appendf(nil, `{"name":%q}`, name),
		Metadata: []byte(`{"v":1}`)}}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func streamIDs(t *testing.T, log eventlog.Log, stream string) []uuid.UUID {
	t.Helper()
	var ids []uuid.UUID
	for event, err := range log.ReadStream(within(t, patience), stream, 0) {
		require.NoError(t, err)
		require.EqualValues(t, len(ids), event.Revision)
		ids = append(ids, event.ID)
	}
	return ids
}

// persistent appends until the log accepts it: after ErrUnavailable it repeats the identical append.
func persistent(
	ctx context.Context, log eventlog.Log, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) error {
	for {
		_, err := log.Append(ctx, stream, expected, events)
		if !errors.Is(err, eventlog.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// The log output has the beginning and the end of an outage, but not the attempts in between.
func TestAnOutageIsTwoLinesOfTheLog(t *testing.T) {
	node := startRestartable(t)
	var said lines
	log := open(t, esdb.Config{
		Socket: nodetest.Socket(node.dir), BreakerPause: 10 * time.Millisecond, MaxBackOff: 20 * time.Millisecond,
		Patience: 50 * time.Millisecond,
		Logger:   slog.New(slog.NewTextHandler(&said, nil)),
	})
	_, err := log.Head(within(t, patience))
	require.NoError(t, err)

	node.down()
	for range 20 {
		_, err := log.Head(within(t, patience))
		require.ErrorIs(t, err, eventlog.ErrUnavailable)
	}
	node.up()
	require.Eventually(t, func() bool {
		_, err := log.Head(within(t, patience))
		return err == nil
	}, patience, 5*time.Millisecond)

	require.Equal(t, 2, said.count("the circuit to the event store changed"))
	require.Equal(t, 1, said.count("state=open"))
	require.Equal(t, 1, said.count("state=closed"))
}

// An append that begins after the client has noticed that the log has gone cannot have been written, so it is refused
// when the outage has lasted for its patience, however long the caller would wait.
func TestAnAppendAfterTheLogHasGoneIsRefused(t *testing.T) {
	node := startRestartable(t)
	log := open(t, esdb.Config{Socket: nodetest.Socket(node.dir), Patience: 50 * time.Millisecond,
		BreakerPause: 10 * time.Millisecond, MaxBackOff: 20 * time.Millisecond})
	require.NoError(t, persistent(within(t, patience), log, "s", eventlog.NoStream, event("x")))
	for range 20 {
		node.down()
		ctx := within(t, patience)
		require.True(t, assertEventually(ctx, func() bool { _, err := log.Head(ctx); return err != nil }))
		_, err := log.Append(ctx, "s", 0, event("y"))
		require.ErrorIs(t, err, eventlog.ErrUnavailable)
		require.NoError(t, ctx.Err())
		node.up()
		back := func() bool { _, err := log.Head(ctx); return err == nil } // a slow start takes longer than its patience
		require.True(t, assertEventually(ctx, back))
	}
}

// assertEventually polls without failing a test, for goroutines that are not the test's own.
func assertEventually(ctx context.Context, condition func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func TestAClientMayBeOpenedBeforeTheLog(t *testing.T) {
	node := newRestartable(t)
	log := node.client()
	reader := logtest.NewReader(log.Subscribe(within(t, patience), eventlog.Start()), eventlog.Start(),
		func(string) bool { return true })
	require.Equal(t, eventlog.KindInterrupted, (<-reader.Deliveries()).Kind)

	node.up()
	require.Empty(t, reader.CaughtUp(t))
	require.NoError(t, persistent(within(t, patience), log, "s", eventlog.NoStream, event("x")))
	require.Len(t, reader.Next(t, 1), 1)
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	node := startRestartable(t)
	log, err := esdb.Open(esdb.Config{Socket: nodetest.Socket(node.dir)})
	require.NoError(t, err)
	live := log.Subscribe(t.Context(), eventlog.Start())
	require.Equal(t, eventlog.KindCaughtUp, (<-live.Deliveries()).Kind)
	require.NoError(t, live.Err(), "it is still open")

	var wait sync.WaitGroup
	for w := range 8 {
		wait.Go(func() {
			for i := 0; ; i++ {
				if _, err := log.Append(t.Context(), fmt.Sprint("close-", w), eventlog.Revision(i-1), event("x")); err != nil {
					if !errors.Is(err, eventlog.ErrUnavailable) {
						t.Errorf("appending: %v", err)
					}
					return
				}
			}
		})
	}
	<-live.Deliveries()
	require.NoError(t, log.Close())
	wait.Wait()
	for range live.Deliveries() {
		continue
	}
	require.ErrorIs(t, live.Err(), eventlog.ErrUnavailable)

	require.NoError(t, log.Close(), "again")
	_, err = log.Head(t.Context())
	require.ErrorIs(t, err, eventlog.ErrUnavailable)
	late := log.Subscribe(t.Context(), eventlog.Start())
	_, delivered := <-late.Deliveries()
	require.False(t, delivered)
	require.ErrorIs(t, late.Err(), eventlog.ErrUnavailable)
}
