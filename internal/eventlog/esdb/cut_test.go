package esdb_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/eventlog/esdb"
	"github.com/recital-tts/recital/internal/eventlog/logtest"
	"github.com/recital-tts/recital/internal/eventnode"
	"github.com/recital-tts/recital/internal/eventnode/nodetest"
)

// wire is the connection between a client and a node, with a pair of pliers.
type wire struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
	node  string // its own address
}

func startWire(t *testing.T) *wire {
	dir := nodetest.Dir(t)
	node, err := eventnode.Open(eventnode.Config{Dir: dir, Socket: nodetest.Socket(dir), Address: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })

	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	w := &wire{t: t, node: node.Addr().String()}
	w.proxy = toxiproxy.NewProxy(server, "wire", "127.0.0.1:0", w.node)
	require.NoError(t, w.proxy.Start())
	t.Cleanup(w.proxy.Stop)
	return w
}

func (w *wire) client() *esdb.Client {
	return open(w.t, esdb.Config{
		ConnectionString: "esdb://" + w.proxy.Listen + "?tls=false&gossipTimeout=1",
		AttemptTimeout:   200 * time.Millisecond,
		BreakerPause:     20 * time.Millisecond,
		MaxBackOff:       50 * time.Millisecond,
	})
}

// direct is a client that the pliers do not touch.
func (w *wire) direct() *esdb.Client {
	return open(w.t, esdb.Config{ConnectionString: "esdb://" + w.node + "?tls=false"})
}

// cut closes the connections; further ones are refused until join.
func (w *wire) cut()  { w.proxy.Stop() }
func (w *wire) join() { require.NoError(w.t, w.proxy.Start()) }

// swallow loses all data in a direction while the connections stay up; clear ends it, and with it those connections.
func (w *wire) swallow(direction string) {
	toxic := fmt.Sprintf(`{"name": %q, "type": "timeout", "stream": %q, "attributes": {"timeout": 0}}`, direction, direction)
	_, err := w.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
	require.NoError(w.t, err)
}

func (w *wire) clear(direction string) {
	require.NoError(w.t, w.proxy.Toxics.RemoveToxic(context.Background(), direction))
}

type appendResult struct {
	eventlog.Appended
	err error
}

func appendInBackground(ctx context.Context, log eventlog.Log, stream string, expected eventlog.Revision, events []eventlog.Proposed) <-chan appendResult {
	results := make(chan appendResult, 1)
	go func() {
		appended, err := log.Append(ctx, stream, expected, events)
		results <- appendResult{appended, err}
	}()
	return results
}

func TestAnAppendWhoseAnswerIsLostIsRepeatedAndWrittenOnce(t *testing.T) {
	w := startWire(t)
	log, direct := w.client(), w.direct()
	ctx := within(t, patience)
	_, err := log.Append(ctx, "s", eventlog.NoStream, event("first"))
	require.NoError(t, err)

	w.swallow("downstream")
	second := event("second")
	result := appendInBackground(ctx, log, "s", 0, second)
	require.Eventually(t, func() bool { return len(streamIDs(t, direct, "s")) == 2 }, patience, 5*time.Millisecond,
		"it is written, and its writer does not know")
	_, err = direct.Append(ctx, "s", 1, event("another writer is faster"))
	require.NoError(t, err)
	w.clear("downstream")

	appended := <-result
	require.NoError(t, appended.err)
	require.Len(t, streamIDs(t, direct, "s"), 3)
	for recorded, err := range direct.ReadStream(ctx, "s", 1) {
		require.NoError(t, err)
		require.Equal(t, second[0].ID, recorded.ID)
		require.Equal(t, eventlog.Appended{Revision: 1, Position: recorded.Position}, appended.Appended)
		break
	}
}

func TestAnAppendThatWasLostMeetsTheConflictOfItsRepetition(t *testing.T) {
	w := startWire(t)
	log, direct := w.client(), w.direct()
	ctx := within(t, patience)
	_, err := log.Append(ctx, "s", eventlog.NoStream, event("first"))
	require.NoError(t, err)

	w.swallow("upstream")
	result := appendInBackground(ctx, log, "s", 0, event("lost on the way"))
	other := event("other")
	_, err = direct.Append(ctx, "s", 0, other)
	require.NoError(t, err)
	select {
	case early := <-result:
		t.Fatalf("ended during the outage: %v", early.err)
	case <-time.After(300 * time.Millisecond): // the first try has timed out
	}
	w.clear("upstream")

	var conflict *eventlog.ConflictError
	require.ErrorAs(t, (<-result).err, &conflict)
	require.Equal(t, &eventlog.ConflictError{Stream: "s", Expected: 0, Actual: 1}, conflict)
	require.Equal(t, other[0].ID, streamIDs(t, direct, "s")[1])
}

func TestAnAppendOfUnknownOutcomeSaysSoWhenItsContextEnds(t *testing.T) {
	w := startWire(t)
	log := w.client()
	_, err := log.Append(within(t, patience), "s", eventlog.NoStream, event("first"))
	require.NoError(t, err)

	w.swallow("downstream")
	_, err = log.Append(within(t, time.Second), "s", 0, event("second"))
	require.ErrorIs(t, err, eventlog.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestASubscriptionOutlivesCutConnections(t *testing.T) {
	w := startWire(t)
	log, direct := w.client(), w.direct()
	ctx := within(t, patience)
	reader := logtest.NewReader(log.Subscribe(ctx, eventlog.Start()), eventlog.Start(), func(string) bool { return true })
	reader.CaughtUp(t)

	var written, read []uuid.UUID
	for cut := range 3 {
		for range 10 {
			next := event("x")
			_, err := direct.Append(ctx, "s", eventlog.Revision(len(written)-1), next)
			require.NoError(t, err)
			written = append(written, next[0].ID)
		}
		w.cut()
		next := event("during the cut")
		_, err := direct.Append(ctx, "s", eventlog.Revision(len(written)-1), next)
		require.NoError(t, err)
		written = append(written, next[0].ID)
		w.join()
		for _, event := range reader.Next(t, 11) {
			read = append(read, event.ID)
		}
		reader.CaughtUp(t)
		require.Equal(t, written, read)
		require.Equal(t, cut+1, reader.Interruptions)
	}
}

// Nothing tells the subscription that its connection is half open; a call on the same connection finds out.
func TestASubscriptionLeavesAHalfOpenConnection(t *testing.T) {
	w := startWire(t)
	log, direct := w.client(), w.direct()
	ctx := within(t, patience)
	reader := logtest.NewReader(log.Subscribe(ctx, eventlog.Start()), eventlog.Start(), func(string) bool { return true })
	reader.CaughtUp(t)

	w.swallow("downstream")
	next := event("unseen")
	_, err := direct.Append(ctx, "s", eventlog.NoStream, next)
	require.NoError(t, err)
	_, err = log.Head(within(t, time.Second))
	require.Error(t, err)
	require.Equal(t, eventlog.KindInterrupted, (<-reader.Deliveries()).Kind)

	w.clear("downstream")
	caught := reader.CaughtUp(t)
	require.Len(t, caught, 1)
	require.Equal(t, next[0].ID, caught[0].ID)
}
