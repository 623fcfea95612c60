package esdb

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// store is the event store on one connection.
type store interface {
	append(ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed) (
		eventlog.Appended, error)
	// read returns at most size events. A stream that does not exist has none.
	read(ctx context.Context, from place, size int) (page, error)
	// subscribe returns a function that receives the next message after a position (exclusive), until ctx ends.
	subscribe(ctx context.Context, after eventlog.Position) (next func() (received, error), err error)
	// close ends all calls. Closing again has no effect.
	close()
}

// connection is a store with its calls. It is retired after its first failure, and closed when its last call has ended.
type connection struct {
	store
	watch func()        // returns when the connection has failed; nil: calls detect it
	grace time.Duration // time for the calls of a retired connection to end

	retired context.Context // ends when the connection is retired
	end     context.CancelFunc
	dead    context.Context // ends when the connection and its calls are abandoned
	kill    context.CancelFunc

	mu     sync.Mutex
	calls  int // running calls, including subscriptions
	blamed bool
	late   *time.Timer // closes a retired connection that still has calls
}

// dial returns a connection to the embedded node, or to a server that the library discovers. It takes at most the
// library's gossip timeout per request to each candidate.
func dial(
	conf es.Configuration, grace time.Duration, redirected func(leader string), logger *slog.Logger,
) (*connection, error) {
	c := &connection{grace: grace}
	c.retired, c.end = context.WithCancel(context.Background())
	c.dead, c.kill = context.WithCancel(context.Background())
	if strings.HasPrefix(conf.Address, unixScheme) {
		opening := time.AfterFunc(time.Duration(conf.GossipTimeout)*time.Second, c.kill)
		defer opening.Stop()
		n, err := openNode(c.dead, conf.Address)
		if err != nil {
			c.kill()
			return nil, err
		}
		c.store, c.watch = n, n.batch.run
		return c, nil
	}
	l, err := openLibrary(conf, logger, func(leader string) {
		redirected(leader)
		c.retire()
	})
	if err != nil {
		c.kill()
		return nil, err
	}
	c.store = l
	return c, nil
}

// begin registers a call, which ends with done. It returns false if the connection is retired.
func (c *connection) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired.Err() != nil {
		return false
	}
	c.calls++
	return true
}

func (c *connection) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
	if c.calls > 0 || c.retired.Err() == nil {
		return
	}
	if c.late != nil {
		c.late.Stop()
	}
	c.close()
}

// retire refuses further calls, and closes the connection when its calls have ended.
func (c *connection) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired.Err() != nil {
		return
	}
	c.end()
	if c.calls == 0 {
		c.close()
		return
	}
	// All calls have deadlines, so a call that is left by then hangs in the library. Closing makes it panic, which frees
	// it.
	c.late = time.AfterFunc(c.grace, c.close)
}

// abandon retires an unresponsive connection and cancels its calls, which are then attempted on another one.
func (c *connection) abandon() {
	c.retire()
	c.kill()
}

func (c *connection) close() {
	c.store.close()
	c.kill()
}

// blame returns true for the first failure of the connection, which many calls may detect.
func (c *connection) blame() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.blamed
	c.blamed = true
	return first
}

// outage measures how long the event store has not responded.
type outage struct {
	mu    sync.Mutex
	since time.Time // start of the first attempt without a response; zero if there is no outage
}

// begin records a failed attempt that took the given time.
func (o *outage) begin(took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		o.since = time.Now().Add(-took)
	}
}

func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.since = time.Time{}
}

func (o *outage) lasted() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return 0
	}
	return time.Since(o.since)
}

// Silence returns how long the event store has not responded, or zero while it responds. Without other calls, an outage
// is detected within Config.BeatEvery plus Config.BeatTimeout.
func (c *Client) Silence() time.Duration { return c.outage.lasted() }

// beat periodically reads one event. Calls thus leave an unresponsive node long before their own timeouts, and long
// before keep-alives detect it.
func (c *Client) beat() {
	ticker := time.NewTicker(c.conf.BeatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-c.closing.Done():
			return
		case <-ticker.C:
			// The breaker and the outage record the result.
			abandoning := attempt{c.conf.BeatTimeout, (*connection).abandon}
			_, _ = try(c.closing, c, reads, &tries{}, abandoning, readPage(place{backwards: true, end: true}, 1))
		}
	}
}

// unavailable returns the error of a call that was not sent, with the reason if there is no connection.
func (c *Client) unavailable() error {
	if reason := c.supervisor.unreachable(); reason != "" {
		return fmt.Errorf("%w: %s", eventlog.ErrUnavailable, reason)
	}
	return eventlog.ErrUnavailable
}
