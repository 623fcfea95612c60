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

// lines is a log that a test reads while it is written.
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

// An election takes 2 to 3 s, in which nobody leads.
func TestCallsWaitThroughAnElection(t *testing.T) {
	// given an outage that is known, and is not long yet
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

	// when calls of all kinds come in
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

	// then none is refused, and all are answered when there is a leader
	require.Empty(t, outcomes)
	n.join()
	for range calls {
		require.NoError(t, <-outcomes)
	}
	require.Zero(t, log.Silence())
}

// A node that hangs without dying answers nothing and closes nothing. Callers have more patience than the beats.
func TestANodeThatHangsIsLeft(t *testing.T) {
	n := startNetwork(t, nil)
	log := open(t, esdb.Config{ConnectionString: n.address() + "&keepAliveInterval=-1", AttemptTimeout: time.Hour,
		Patience: time.Hour})
	_, err := log.Head(within(t, patience))
	require.NoError(t, err)
	n.gate.forget() // another node serves
	_, err = log.Head(within(t, patience))
	require.NoError(t, err)
	require.NoError(t, stubborn(t.Context(), log, "s", eventlog.NoStream, event("x")))
}

func TestTheSilenceOfTheStoreIsKnownWithoutCalls(t *testing.T) {
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

// Who begins with a wrong connection string learns what is wrong with it.
func TestWhyTheStoreCannotBeReachedIsNamed(t *testing.T) {
	identity, caFile := newIdentity(t)
	plain, secured := startNetwork(t, nil), startNetwork(t, identity)
	for name, c := range map[string]struct{ connection, says string }{
		"an unknown authority": {"esdb://admin:hidden@" + secured.proxy.Listen + "?tls=true", "tlsCaFile="},
		"TLS to plain text": {"esdb://admin:hidden@" + plain.proxy.Listen + "?tls=true&tlsCAFile=" + caFile,
			"does not speak TLS"},
		"plain text to TLS":      {"esdb://" + secured.proxy.Listen + "?tls=false", "may want TLS"},
		"an address of nobody's": {"esdb://" + deadAddress(t) + "?tls=false", "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := impatient(t, c.connection)
			require.Eventually(t, func() bool { // this client has less patience than a handshake may take
				_, err := log.Head(within(t, patience))
				require.ErrorIs(t, err, eventlog.ErrUnavailable)
				require.NotContains(t, err.Error(), "hidden")
				return strings.Contains(err.Error(), c.says)
			}, patience, time.Millisecond)
		})
	}
}
