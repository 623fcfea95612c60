package esdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/grpc/metadata"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/pause"
	"github.com/recital-tts/recital/internal/providers/circuit"
)

var (
	errPanicked = errors.New("the event store's client panicked")
	errNoAnswer = errors.New("no answer in time")
)

// operation is one call of the library. It must be repeatable.
type operation[T any] func(ctx context.Context, conn *connection) (T, error)

// effect reports whether an operation writes. A read that fails has no effect.
type effect bool

const (
	reads  effect = false
	writes effect = true
)

// tries is the outcome of an operation's attempts.
type tries struct {
	failed bool // an attempt got no response
	open   bool // an attempt may have had an effect
}

// repeat attempts an operation until it gets a response, until ctx ends, or until the outage has lasted longer than
// Patience. An outage does not end it while an attempt may have had an effect. Its error is the event store's refusal
// as returned by the library, or it wraps eventlog.ErrUnavailable, the context's error, or both.
func repeat[T any](ctx context.Context, c *Client, does effect, op operation[T]) (T, tries, error) {
	var none T
	var t tries
	pauses := c.newBackOff()
	for {
		result, err := try(ctx, c, does, &t, c.ordinary(), op)
		switch {
		case err == nil:
			return result, t, nil
		case isRefusal(err):
			return none, t, err
		case ctx.Err() != nil:
			return none, t, ended(ctx, t)
		case c.closing.Err() != nil:
			return none, t, fmt.Errorf("%w: %w", eventlog.ErrUnavailable, errClosed)
		case !t.open && c.outage.lasted() > c.conf.Patience:
			return none, t, c.unavailable()
		}
		if pause.For(ctx, pauses.NextBackOff()) != nil {
			return none, t, ended(ctx, t)
		}
	}
}

// ended returns the error of a call after its context ended. It distinguishes an outage from a short deadline. A write
// without a response by its deadline counts as an outage, because its outcome is unknown.
func ended(ctx context.Context, t tries) error {
	if t.failed || t.open && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", eventlog.ErrUnavailable, ctx.Err())
	}
	return ctx.Err()
}

// try makes one attempt, if the breaker permits it.
func try[T any](ctx context.Context, c *Client, does effect, t *tries, a attempt, op operation[T]) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	report, err := c.breaker.Allow()
	if err != nil {
		t.failed = true
		return none, err
	}
	began := time.Now()
	result, err := call(ctx, c, a, op)
	if err == nil || isRefusal(err) {
		report(nil)
		c.outage.end()
		return result, err
	}
	t.open = t.open || does == writes && !isUnsent(err)
	if ctx.Err() != nil { // a caller that gives up does not indicate an outage
		report(circuit.ErrNoSign)
		return none, ctx.Err()
	}
	t.failed = true
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errClosed) {
		report(circuit.ErrNoSign)
	} else {
		report(err)
	}
	c.outage.begin(min(time.Since(began), a.timeout)) // the timeout is the limit even if this process was suspended
	return none, err
}

// attempt is the time limit of an attempt, and the handling of a connection without a response in that time.
type attempt struct {
	timeout time.Duration
	silent  func(*connection)
}

// ordinary returns the attempt of a caller's operation. The operation itself may be slow, so other calls on the
// connection continue.
func (c *Client) ordinary() attempt { return attempt{c.conf.AttemptTimeout, (*connection).retire} }

// call runs an operation once, limited by ctx and the attempt's timeout. The operation occupies a slot until it ends.
// One of the library has a goroutine of its own, because parts of the library ignore contexts.
func call[T any](ctx context.Context, c *Client, a attempt, op operation[T]) (T, error) {
	var none T
	ctx, cancel := context.WithTimeoutCause(ctx, a.timeout, errNoAnswer)
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return none, errUnsent
	}
	type answer struct {
		result T
		err    error
	}
	answers := make(chan answer, 1)
	run := c.supervisor.spawn
	if c.conf.Socket != "" {
		run = c.supervisor.during
	}
	running := run(func() {
		defer func() { <-c.slots }()
		result, err := onConnection(ctx, c, a, op)
		answers <- answer{result, err}
	})
	if !running {
		<-c.slots
		return none, errClosed
	}
	select {
	case got := <-answers:
		return got.result, got.err
	case <-ctx.Done():
	}
	select {
	case got := <-answers:
		return got.result, got.err
	default:
		return none, errNoAnswer
	}
}

// onConnection runs an operation on a good connection, and retires the connection if it fails.
func onConnection[T any](ctx context.Context, c *Client, a attempt, op operation[T]) (T, error) {
	var none T
	conn, err := c.supervisor.begin(ctx)
	if err != nil {
		return none, err
	}
	defer conn.done()
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(conn.dead, cancel)()
	result, err := recovering(c.forLeader(alive), conn, op)
	gaveUp := ctx.Err() != nil && !errors.Is(context.Cause(ctx), errNoAnswer)
	if err == nil || !isBroken(err) || gaveUp {
		return result, err
	}
	if ctx.Err() != nil {
		a.silent(conn)
	} else {
		conn.retire()
	}
	if !conn.blame() { // a connection that fails counts once, however many calls it interrupts
		return none, fmt.Errorf("%w: %w", circuit.ErrNoSign, err)
	}
	return none, err
}

// forLeader makes a node that is not the leader of its cluster refuse the call, instead of answering from a copy that
// may be stale. The library should send this header itself, but puts it into gRPC's incoming metadata.
func (c *Client) forLeader(ctx context.Context) context.Context {
	if !c.wantsLeader {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "requires-leader", "true")
}

// recovering recovers from panics in the library: an unreported panic from logTo, and the library's own panics on
// unexpected responses and on calls that are waiting while it is closed.
func recovering[T any](ctx context.Context, conn *connection, op operation[T]) (result T, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case unreported:
			err = p.err
		default:
			err = fmt.Errorf("%w: %v", errPanicked, p)
		}
	}()
	return op(ctx, conn)
}

func (c *Client) newBackOff() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval:     min(20*time.Millisecond, c.conf.MaxBackOff),
		RandomizationFactor: 0.5,
		Multiplier:          2,
		MaxInterval:         c.conf.MaxBackOff,
	}
}
