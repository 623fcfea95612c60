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
)

// connection is one client of the library on one gRPC connection. The library (v4.2.0) has three defects, all in what
// it does after a failure: it discovers the node anew without closing the connection that failed; when that discovery
// fails it is dead for good and callers that were waiting for it hang for ever; and Close panics callers that are
// about to report a failure. A connection therefore never comes to a second discovery: it is retired at its first
// failure, before the library is told of it, and is closed when its last call has ended.
type connection struct {
	client *es.Client

	retired context.Context // ends when the connection is retired
	end     context.CancelFunc

	mu       sync.Mutex
	calls    int            // under way, subscriptions included
	starting sync.WaitGroup // calls that may still ask the library for its connection handle
}

// dial makes a connection that has found its node. It ends within the library's gossip timeout for each candidate.
func dial(conf es.Configuration, logger *slog.Logger) (*connection, error) {
	c := &connection{}
	c.retired, c.end = context.WithCancel(context.Background())
	conf.Logger = c.logTo(logger)
	client, err := es.NewClient(&conf)
	if err != nil {
		return nil, err
	}
	c.client = client
	if _, err := client.GetServerVersion(); err != nil {
		return nil, err // the library has given up this client and holds nothing of it any more
	}
	return c, nil
}

// begin counts a call in. It is false on a retired connection. The call uses the context that begin gives, and ends
// with done.
func (c *connection) begin(ctx context.Context) (call context.Context, done func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired.Err() != nil {
		return nil, nil, false
	}
	c.calls++
	c.starting.Add(1)
	started := sync.OnceFunc(c.starting.Done)
	return startingContext{ctx, started}, func() { started(); c.done() }, true
}

func (c *connection) done() {
	c.mu.Lock()
	c.calls--
	last := c.calls == 0 && c.retired.Err() != nil
	c.mu.Unlock()
	if last {
		c.close()
	}
}

// retire lets no further call begin, and returns when those that have begun hold their connection handle.
func (c *connection) retire() {
	c.mu.Lock()
	c.end()
	unused := c.calls == 0
	c.mu.Unlock()
	c.starting.Wait()
	if unused {
		c.close()
	}
}

func (c *connection) close() {
	_ = c.client.Close() // always nil; repeating it does nothing
}

// startingContext tells when the library has got its connection handle: the first thing that it does afterwards, in
// every call that we use, is to derive a context with a deadline.
type startingContext struct {
	context.Context
	started func()
}

func (c startingContext) Deadline() (time.Time, bool) {
	c.started()
	return c.Context.Deadline()
}

// failureReport is how the library logs a failed call, before it tells its connection goroutine to discover anew.
const failureReport = "unexpected exception: %v"

// logTo passes the library's log on, and retires the connection when a call has found it unavailable.
func (c *connection) logTo(logger *slog.Logger) es.LoggingFunc {
	return func(level es.LogLevel, format string, args ...any) {
		if format == failureReport && len(args) == 1 && isUnavailable(args[0]) {
			c.retire()
		}
		logger.Debug("event store client", "level", level, "message", fmt.Sprintf(format, withoutTexts(args)...))
	}
}

func isUnavailable(arg any) bool {
	err, ok := arg.(error)
	return ok && status.Code(err) == codes.Unavailable
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
