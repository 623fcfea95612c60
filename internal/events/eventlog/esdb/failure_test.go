package esdb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventlog/logtest"
)

// connections are the kinds of connection strings, each with its network.
var connections = []struct {
	name  string
	start func(t *testing.T) (n *network, connection string)
}{
	{"one node", func(t *testing.T) (*network, string) {
		n := startNetwork(t, nil)
		return n, n.address()
	}},
	{"discovery", func(t *testing.T) (*network, string) {
		n := startNetwork(t, nil)
		seed := startCluster(t, nil, n.proxy.Listen)
		return n, "esdb+discover://" + seed.address + "?tls=false"
	}},
	{"several hosts", func(t *testing.T) (*network, string) {
		n := startNetwork(t, nil)
		seed := startCluster(t, nil, n.proxy.Listen)
		return n, "esdb://" + deadAddress(t) + "," + seed.address + "?tls=false"
	}},
	{"tls", func(t *testing.T) (*network, string) {
		identity, caFile := newIdentity(t)
		n := startNetwork(t, identity)
		return n, "esdb://admin:changeit@" + n.proxy.Listen + "?tls=true&tlsCAFile=" + caFile
	}},
	{"discovery with tls", func(t *testing.T) (*network, string) {
		identity, caFile := newIdentity(t)
		n := startNetwork(t, identity)
		seed := startCluster(t, identity, n.proxy.Listen)
		return n, "esdb+discover://admin:changeit@" + seed.address + "?tls=true&tlsCAFile=" + caFile
	}},
}

// failures are the kinds of network failures.
var failures = []struct {
	name         string
	strike, heal func(n *network)
	outage       bool // no responses until heal
}{
	{"cut", (*network).cut, (*network).join, true},
	{"reset", func(n *network) { n.afflict("reset_peer", `{"timeout": 0}`) }, (*network).recover, true},
	{"half-open", func(n *network) { n.afflict("timeout", `{"timeout": 0}`) }, (*network).recover, true},
	{"forgotten connections", func(n *network) { n.gate.forget() }, func(*network) {}, false},
	{"latency", func(n *network) { n.afflict("latency", `{"latency": 20}`) }, (*network).recover, false},
	{"latency past all patience", func(n *network) { n.afflict("latency", `{"latency": 3000}`, "upstream") },
		(*network).recover, true},
	{"restart", (*network).down, (*network).up, true},
}

// impatient returns a client with a short timeout per attempt.
func impatient(t *testing.T, connection string) *esdb.Client {
	return open(t, esdb.Config{
		ConnectionString: connection + "&gossipTimeout=1",
		AttemptTimeout:   time.Second,
		BreakerPause:     20 * time.Millisecond,
		MaxBackOff:       50 * time.Millisecond,
		Patience:         200 * time.Millisecond,
		BeatTimeout:      time.Second,
	})
}

func TestTheLogOutlivesItsNetwork(t *testing.T) {
	for _, connection := range connections {
		for _, failure := range failures {
			t.Run(connection.name+"/"+failure.name, func(t *testing.T) {
				t.Parallel()
				// given writers and a subscription
				n, address := connection.start(t)
				log := impatient(t, address)
				ctx := within(t, patience)
				reader := logtest.NewReader(log.Subscribe(ctx, eventlog.Start()), eventlog.Start(), isLoad)
				load := startLoad(ctx, t, log)
				load.proceed(ctx)

				// when the network fails, calls end
				failure.strike(n)
				if failure.outage {
					requireOutage(t, log)
				}
				requireCallsEnd(t, log)

				// and when it works again, everything continues without intervention
				failure.heal(n)
				load.proceed(ctx)
				requireService(ctx, t, log)

				// then each append was written once and delivered once
				written := load.stop()
				direct := n.direct()
				delivered := deliveredBy(t, reader, written)
				for stream, ids := range written {
					requireSame(t, ids, streamIDs(t, direct, stream))
					requireSame(t, ids, delivered[stream])
				}

				// and failed connections leave nothing behind
				require.NoError(t, direct.Close())
				require.Eventually(t, func() bool { return n.gate.connections() == 1 }, patience, time.Millisecond)
				require.NoError(t, log.Close())
				require.Eventually(t, func() bool { return n.gate.connections() == 0 }, patience, time.Millisecond)
			})
		}
	}
}

// A call ends with its own context, before and after the connection is made, independently of the timeout of attempts.
func TestCallsEndWithTheirContexts(t *testing.T) {
	for _, connection := range connections {
		t.Run(connection.name, func(t *testing.T) {
			t.Parallel()
			n, address := connection.start(t)
			log := open(t, esdb.Config{ConnectionString: address + "&gossipTimeout=1", AttemptTimeout: time.Hour})
			_, err := log.Head(within(t, patience))
			require.NoError(t, err)

			n.afflict("timeout", `{"timeout": 0}`)
			requireCallsEnd(t, log)

			late := open(t, esdb.Config{ConnectionString: address + "&gossipTimeout=1", AttemptTimeout: time.Hour})
			requireCallsEnd(t, late)
		})
	}
}

// A subscription without concurrent calls notices by gRPC's keepalive, whose shortest interval is 10 s.
func TestASubscriptionAloneLeavesAForgottenConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 10 s")
	}
	networks, readers := map[string]*network{}, map[string]*logtest.Reader{}
	for _, connection := range connections {
		n, address := connection.start(t)
		log := open(t, esdb.Config{ConnectionString: address + "&keepAliveTimeout=200"})
		networks[connection.name] = n
		readers[connection.name] = logtest.NewReader(log.Subscribe(within(t, patience), eventlog.Start()), eventlog.Start(),
			isLoad)
		readers[connection.name].CaughtUp(t)
	}
	for _, n := range networks {
		n.gate.forget()
		_, err := n.direct().Append(within(t, patience), "load-unseen", eventlog.NoStream, event("x"))
		require.NoError(t, err)
	}
	for name, reader := range readers {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, "load-unseen", reader.Next(t, 1)[0].Stream)
			require.Equal(t, 1, reader.Interruptions)
		})
	}
}

// load is a set of writers, each with its own stream.
type load struct {
	t       *testing.T
	cancel  context.CancelFunc
	writers sync.WaitGroup
	total   atomic.Int64
	mu      sync.Mutex
	written map[string][]uuid.UUID
}

func isLoad(stream string) bool { return strings.HasPrefix(stream, "load-") }

func startLoad(ctx context.Context, t *testing.T, log eventlog.Log) *load {
	const writers = 4
	ctx, cancel := context.WithCancel(ctx)
	l := &load{t: t, cancel: cancel, written: map[string][]uuid.UUID{}}
	for range writers {
		stream := "load-" + uuid.NewString()
		l.writers.Go(func() { l.write(ctx, log, stream) })
		l.writers.Go(func() { l.read(ctx, log, stream) })
	}
	t.Cleanup(func() { l.stop() })
	return l
}

// read reads a stream again and again: it has a prefix of the stream or an error, and never a gap.
func (l *load) read(ctx context.Context, log eventlog.Log, stream string) {
	for ctx.Err() == nil {
		var want uint64
		for event, err := range log.ReadStream(ctx, stream, 0) {
			if err == nil && event.Revision != want {
				l.t.Errorf("revision %d follows %d", event.Revision, want)
			}
			want++
		}
		time.Sleep(time.Millisecond)
	}
}

func (l *load) write(ctx context.Context, log eventlog.Log, stream string) {
	for revision := eventlog.NoStream; ctx.Err() == nil; revision++ {
		next := event("x")
		if err := stubborn(l.t.Context(), log, stream, revision, next); err != nil {
			l.t.Errorf("append at %d: %v", revision, err)
			return
		}
		l.mu.Lock()
		l.written[stream] = append(l.written[stream], next[0].ID)
		l.mu.Unlock()
		l.total.Add(1)
	}
}

// stubborn repeats an append while it may not have been written. Each attempt has a short timeout and a pause, without
// which refused callers would leave no processor time to the node.
func stubborn(
	ctx context.Context, log eventlog.Log, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		call, end := context.WithTimeout(ctx, time.Second)
		_, err := log.Append(call, stream, expected, events)
		end()
		unknown := errors.Is(err, eventlog.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
		if !unknown || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// proceed waits until some more appends have been acknowledged.
func (l *load) proceed(ctx context.Context) {
	l.t.Helper()
	goal := l.total.Load() + 40
	require.True(l.t, assertEventually(ctx, func() bool { return l.total.Load() >= goal }), "the writers make no progress")
}

func (l *load) stop() map[string][]uuid.UUID {
	l.cancel()
	l.writers.Wait()
	return l.written
}

func deliveredBy(t *testing.T, reader *logtest.Reader, written map[string][]uuid.UUID) map[string][]uuid.UUID {
	t.Helper()
	total := 0
	for _, ids := range written {
		total += len(ids)
	}
	delivered := map[string][]uuid.UUID{}
	for _, event := range reader.Next(t, total) {
		delivered[event.Stream] = append(delivered[event.Stream], event.ID)
	}
	return delivered
}

// requireSame is require.Equal without thousands of ids in the output.
func requireSame(t *testing.T, want, got []uuid.UUID) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		require.Equal(t, want[i], got[i], "at %d", i)
	}
	require.Len(t, got, len(want))
}

// requireOutage waits until the breaker is open, so that calls without a deadline are also refused.
func requireOutage(t *testing.T, log eventlog.Log) {
	t.Helper()
	_, err := log.Head(t.Context())
	require.ErrorIs(t, err, eventlog.ErrUnavailable)
	for _, err := range log.ReadStream(t.Context(), "outage", 0) {
		require.ErrorIs(t, err, eventlog.ErrUnavailable)
	}
}

// requireCallsEnd makes calls of all kinds with contexts that end soon.
func requireCallsEnd(t *testing.T, log eventlog.Log) {
	t.Helper()
	const calls = 12
	results := make(chan error, calls)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
	defer cancel()
	for i := range calls {
		go func() {
			switch i % 3 {
			case 0:
				_, err := log.Append(ctx, fmt.Sprint("end-", i, uuid.New()), eventlog.NoStream, event("x"))
				results <- err
			case 1:
				var failed error
				for _, err := range log.ReadStream(ctx, "end", 0) {
					failed = err
				}
				results <- failed
			default:
				_, err := log.Head(ctx)
				results <- err
			}
		}()
	}
	for range calls {
		select {
		case err := <-results:
			require.True(t, err == nil || errors.Is(err, eventlog.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded),
				"%v", err)
		case <-time.After(patience):
			t.Fatal("a call outlives its context")
		}
	}
}

// requireService waits until calls of all kinds succeed again.
func requireService(ctx context.Context, t *testing.T, log eventlog.Log) {
	t.Helper()
	require.True(t, assertEventually(ctx, func() bool {
		_, err := log.Head(ctx)
		return err == nil
	}))
	require.NoError(t, stubborn(ctx, log, "service-"+uuid.NewString(), eventlog.NoStream, event("x")))
}
