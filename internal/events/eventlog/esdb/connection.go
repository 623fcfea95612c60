package esdb

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// connection is one client of the library on one gRPC connection. The library (v4.2.0) has defects in everything that
// it does after a failure: it discovers the node anew without closing the connection that failed; if that discovery
// fails, it remains unusable, and callers that were waiting for it hang for ever; and Close panics callers that are
// about to report a failure. A connection therefore never reaches a second discovery: a call that finds it
// unavailable leaves the library before reporting it there, and the connection is retired and closed when its last
// call has ended.
type connection struct {
	client     *es.Client
	redirected func(leader string)
	grace      time.Duration // for calls of a retired connection to end

	retired context.Context // ends when the connection is retired
	end     context.CancelFunc
	dead    context.Context // ends when the connection is abandoned, and its calls with it
	kill    context.CancelFunc

	mu     sync.Mutex
	calls  int // in progress, including subscriptions
	blamed bool
	late   *time.Timer // of a retired connection with calls
}

// dial returns a connection that has discovered its node. It ends within the library's gossip timeout per request to
// each candidate.
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
		return nil, err // the library has discarded this client and holds no resources of it any more
	}
	return c, nil
}

// begin registers a call, which ends with done. It returns false on a retired connection.
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

// retire prevents further calls.
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
	// All calls are bounded, so one that is left then hangs in the library. Closing makes it panic, which frees it.
	c.late = time.AfterFunc(c.grace, c.close)
}

// abandon retires a connection on which nothing is answered, and ends the calls on it, to be attempted elsewhere.
func (c *connection) abandon() {
	c.retire()
	c.kill()
}

func (c *connection) close() {
	_ = c.client.Close() // always nil; repeating it does nothing
	c.kill()
}

// blame returns true for the first failure of the connection: many calls detect the same one.
func (c *connection) blame() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.blamed
	c.blamed = true
	return first
}

// The formats of the library's log messages before it acts.
const (
	// on the caller's goroutine: makes its connection goroutine discover anew
	failureReport  = "unexpected exception: %v"
	redirectReport = "Connecting to leader node %s ..." // on its connection goroutine
)

// unreported is the panic that takes a call out of the library; see recovering.
type unreported struct{ err error }

// logTo passes the library's log on, and watches for the moments at which the library must be stopped.
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
			// The library goes to the leader for the calls that wait for it; all others get there by a new connection.
			if format == redirectReport {
				c.redirected(arg)
				c.retire()
			}
		}
	}
}

// withoutTexts replaces errors by their codes: their texts may quote what was sent.
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

// outage is the time in which the event store does not respond.
type outage struct {
	mu    sync.Mutex
	since time.Time // when the first attempt began that was not answered; zero while attempts are
}

// begin notes an attempt that was not answered and has taken so long.
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

// Silence returns for how long the event store has answered nothing, zero while it answers. It is known within
// Config.BeatEvery and Config.BeatTimeout, also if nobody calls.
func (c *Client) Silence() time.Duration { return c.outage.lasted() }

// beat asks the event store for little, again and again, so that a node that hangs without dying is left long before a
// call on it has had its time, and long before keep-alives notice.
func (c *Client) beat() {
	ticker := time.NewTicker(c.conf.BeatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-c.closing.Done():
			return
		case <-ticker.C:
			// What comes of it is in the breaker and in the outage.
			_, _ = try(c.closing, c, reads, &tries{}, attempt{c.conf.BeatTimeout, (*connection).abandon}, lastEvent)
		}
	}
}

func lastEvent(ctx context.Context, client *es.Client) (page, error) {
	events, err := client.ReadAll(ctx, es.ReadAllOptions{Direction: es.Backwards, From: es.End{}}, 1)
	if err != nil {
		return page{}, err
	}
	return collect(events, 1)
}

// unavailable returns the error of a call that was not sent, with the reason if there is no connection.
func (c *Client) unavailable() error {
	if reason := c.supervisor.unreachable(); reason != "" {
		return fmt.Errorf("%w: %s", eventlog.ErrUnavailable, reason)
	}
	return eventlog.ErrUnavailable
}
