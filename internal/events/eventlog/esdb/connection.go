package esdb

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// connection is a client of the library on one gRPC connection. The library (v4.2.0) has defects in everything that it
// does after a failure. It discovers the node again without closing the failed connection. If that discovery fails, it
// becomes unusable, and callers that are waiting for it never return. Close makes callers panic that are about to
// report a failure. A connection therefore never reaches a second discovery: a call that finds it unavailable leaves
// the library before reporting the failure there. Then the connection is retired, and closed when its last call has
// ended.
type connection struct {
	client     *es.Client
	batch      *batch // of the embedded node; nil for servers
	redirected func(leader string)
	grace      time.Duration // time for the calls of a retired connection to end

	retired context.Context // ends when the connection is retired
	end     context.CancelFunc
	dead    context.Context // ends when the connection and its calls are abandoned
	kill    context.CancelFunc

	mu     sync.Mutex
	calls  int // running calls, including subscriptions
	blamed bool
	late   *time.Timer // closes a retired connection that still has calls
}

// dial returns a connection to the discovered node. It takes at most the library's gossip timeout per request to each
// candidate.
func dial(
	conf es.Configuration, grace time.Duration, redirected func(leader string), logger *slog.Logger,
) (*connection, error) {
	c := &connection{grace: grace, redirected: redirected}
	c.retired, c.end = context.WithCancel(context.Background())
	c.dead, c.kill = context.WithCancel(context.Background())
	conf.Logger = c.logTo(logger)
	client, err := es.NewClient(&conf)
	if err != nil {
		return nil, err
	}
	c.client = client
	if _, err := client.GetServerVersion(); err != nil {
		return nil, err // the library has already released this client's resources
	}
	if !strings.HasPrefix(conf.Address, unixScheme) {
		return c, nil
	}
	opening := time.AfterFunc(time.Duration(conf.GossipTimeout)*time.Second, c.kill)
	defer opening.Stop()
	if c.batch, err = openBatch(c.dead, conf.Address); err != nil {
		c.close()
		return nil, err
	}
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
	_ = c.client.Close() // always nil, and closing again has no effect
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

// The formats of messages that the library logs before it acts.
const (
	// on the caller's goroutine, before the library's connection goroutine discovers a node again
	failureReport  = "unexpected exception: %v"
	redirectReport = "Connecting to leader node %s ..." // on the library's connection goroutine
)

// unreported is the panic value that takes a call out of the library. It is handled by recovering.
type unreported struct{ err error }

// logTo returns a function that forwards the library's log, and intercepts the messages before which the library must
// be stopped.
func (c *connection) logTo(logger *slog.Logger) es.LoggingFunc {
	return func(level es.LogLevel, format string, args ...any) {
		logger.Debug("event store client", "level", level, "message", fmt.Sprintf(format, withoutTexts(args)...))
		if len(args) != 1 {
			return
		}
		switch arg := args[0].(type) {
		case error:
			if format == failureReport && status.Code(arg) == codes.Unavailable {
				panic(unreported{arg})
			}
		case string:
			// Calls that are waiting in the library follow it to the leader. All other calls get there with a new connection.
			if format == redirectReport {
				c.redirected(arg)
				c.retire()
			}
		}
	}
}

// withoutTexts replaces errors by their codes, because error texts may quote requests.
func withoutTexts(args []any) []any {
	safe := make([]any, len(args))
	for i, arg := range args {
		safe[i] = arg
		if err, ok := arg.(error); ok {
			safe[i] = status.Code(err)
		}
	}
	return safe
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
			_, _ = try(c.closing, c, reads, &tries{}, abandoning, readBackwards(es.End{}, 1))
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
