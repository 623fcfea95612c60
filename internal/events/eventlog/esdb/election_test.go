package esdb_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
)

// lines is a log output that a test reads while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) say(part string) bool { return l.count(part) > 0 }

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// An election takes 2 to 3 s without a leader.
func TestCallsWaitThroughAnElection(t *testing.T) {
	// given a known outage that has just started
	n := startNetwork(t, nil)
	var said lines
	log := open(t, esdb.Config{
		ConnectionString: n.address(), Patience: time.Hour, MaxBackOff: 50 * time.Millisecond,
		BreakerPause: 100 * time.Millisecond,
		Logger:       slog.New(slog.NewTextHandler(&said, nil)),
	})
	_, err := log.Head(within(t, patience))
	require.NoError(t, err)
	n.cut()

	// when calls of all kinds arrive
	const calls = 24
	ctx := within(t, patience)
	outcomes := make(chan error, calls)
	for i := range calls {
		go func() {
			if i%2 == 0 {
				_, err := log.Append(ctx, fmt.Sprint("election-", i), eventlog.NoStream, event("x"))
				outcomes <- err
				return
			}
			_, err := log.Head(ctx)
			outcomes <- err
		}()
	}
	require.Eventually(t, func() bool { return said.say("state=open") }, patience, time.Millisecond)
	require.Positive(t, log.Silence())

	// then none is refused, and all get a response when there is a leader
	require.Empty(t, outcomes)
	n.join()
	for range calls {
		require.NoError(t, <-outcomes)
	}
	require.Zero(t, log.Silence())
}

// A node that hangs neither responds nor closes connections. The callers' timeouts are longer than those of beats.
func TestANodeThatHangsIsLeft(t *testing.T) {
	n := startNetwork(t, nil)
	log := open(t, esdb.Config{ConnectionString: n.address() + "&keepAliveInterval=-1", AttemptTimeout: time.Hour,
		Patience: time.Hour})
	_, err := log.Head(within(t, patience))
	require.NoError(t, err)
	n.gate.forget() // another node takes over
	_, err = log.Head(within(t, patience))
	require.NoError(t, err)
	require.NoError(t, stubborn(t.Context(), log, "s", eventlog.NoStream, event("x")))
}

func TestAnOutageIsDetectedWithoutCalls(t *testing.T) {
	n := startNetwork(t, nil)
	log := open(t, esdb.Config{ConnectionString: n.address()})
	_, err := log.Head(within(t, patience))
	require.NoError(t, err)
	for name, strike := range map[string]func(){
		"a cut": n.cut, "a node that hangs": func() { n.afflict("timeout", `{"timeout": 0}`) },
	} {
		strike()
		require.Eventually(t, func() bool { return log.Silence() > 0 }, patience, time.Millisecond, name)
		if name == "a cut" {
			n.join()
		}
		n.recover()
		require.Eventually(t, func() bool { return log.Silence() == 0 }, patience, time.Millisecond, name)
	}
}

// The log says why a wrong connection string does not work.
func TestTheReasonOfAFailedConnectionIsLogged(t *testing.T) {
	identity, caFile := newIdentity(t)
	plain, secured := startNetwork(t, nil), startNetwork(t, identity)
	for name, c := range map[string]struct{ connection, says string }{
		"an unknown authority": {"esdb://admin:hidden@" + secured.proxy.Listen + "?tls=true", "tlsCaFile="},
		"TLS to plain text": {"esdb://admin:hidden@" + plain.proxy.Listen + "?tls=true&tlsCAFile=" + caFile,
			"does not speak TLS"},
		"plain text to TLS": {"esdb://" + secured.proxy.Listen + "?tls=false", "may want TLS"},
		"a dead address":    {"esdb://" + deadAddress(t) + "?tls=false", "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := impatient(t, c.connection)
			require.Eventually(t, func() bool { // this client's timeout may be shorter than a handshake
				_, err := log.Head(within(t, patience))
				require.ErrorIs(t, err, eventlog.ErrUnavailable)
				require.NotContains(t, err.Error(), "hidden")
				return strings.Contains(err.Error(), c.says)
			}, patience, time.Millisecond)
		})
	}
}
