package esdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"

	"github.com/recital-tts/recital/internal/eventlog"
)

var (
	errPanicked = errors.New("the event store's client panicked")
	errNoAnswer = errors.New("no answer in time")
)

// operation is one call of the library. It must be repeatable.
type operation[T any] func(ctx context.Context, client *es.Client) (T, error)

// effect says whether an operation writes. A read that was not answered has done nothing.
type effect bool

const (
	reads  effect = false
	writes effect = true
)

// tries is what is known of an operation that was tried.
type tries struct {
	failed bool // one of them was not answered
	open   bool // one of them may have taken effect without our knowing
}

// repeat tries an operation until it is answered, until ctx ends, or until the breaker says that the event store is
// down, which ends it only while no try may have taken effect. While the breaker lets another call probe, it waits.
// Its error is a refusal of the event store as the library gave it, or wraps eventlog.ErrUnavailable, the context's
// error, or both.
func repeat[T any](ctx context.Context, c *Client, does effect, op operation[T]) (T, tries, error) {
	var none T
	var t tries
	pause := c.newBackOff()
	for {
		result, err := try(ctx, c, does, &t, op)
		switch {
		case err == nil:
			return result, t, nil
		case isRefusal(err):
			return none, t, err
		case ctx.Err() != nil:
			return none, t, ended(ctx, t)
		case c.closing.Err() != nil:
			return none, t, fmt.Errorf("%w: %w", eventlog.ErrUnavailable, errClosed)
		case errors.Is(err, gobreaker.ErrOpenState) && !t.open:
			return none, t, eventlog.ErrUnavailable
		}
		if !sleep(ctx, pause.NextBackOff()) {
			return none, t, ended(ctx, t)
		}
	}
}

// ended is the error of a call whose context ended. It tells an outage from a caller without patience.
func ended(ctx context.Context, t tries) error {
	if t.failed {
		return fmt.Errorf("%w: %w", eventlog.ErrUnavailable, ctx.Err())
	}
	return ctx.Err()
}

// try is one try, if the breaker lets it through.
func try[T any](ctx context.Context, c *Client, does effect, t *tries, op operation[T]) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	report, err := c.breaker.Allow()
	if err != nil {
		t.failed = true
		return none, err
	}
	result, err := call(ctx, c, op)
	if err == nil || isRefusal(err) {
		report(nil)
		return result, err
	}
	t.open = t.open || does == writes && !isUnsent(err)
	if ctx.Err() != nil { // a caller that gave up says nothing about the event store
		report(ctx.Err())
		return none, ctx.Err()
	}
	t.failed = true
	report(err)
	return none, err
}

// call runs an operation once, bounded by ctx and by the time for one try. It runs in a goroutine of its own, because
// parts of the library do not look at contexts; the goroutine holds one of the slots until it has really ended.
func call[T any](ctx context.Context, c *Client, op operation[T]) (T, error) {
	var none T
	ctx, cancel := context.WithTimeoutCause(ctx, c.conf.AttemptTimeout, errNoAnswer)
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
	running := c.supervisor.spawn(func() {
		defer func() { <-c.slots }()
		result, err := onConnection(ctx, c, op)
		answers <- answer{result, err}
	})
	if !running {
		<-c.slots
		return none, errClosed
	}
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-answers:
		return a.result, a.err
	default:
		return none, errNoAnswer
	}
}

// onConnection runs an operation on a good connection, and retires the connection when it turns out broken.
func onConnection[T any](ctx context.Context, c *Client, op operation[T]) (T, error) {
	var none T
	conn, callCtx, done, err := c.supervisor.begin(ctx)
	if err != nil {
		return none, err
	}
	result, err := recovering(callCtx, conn.client, op)
	done()
	gaveUp := ctx.Err() != nil && context.Cause(ctx) != errNoAnswer
	if err != nil && isBroken(err) && !gaveUp {
		conn.retire()
	}
	return result, err
}

// recovering turns a panic of the library into an error: it panics on answers that it does not expect.
func recovering[T any](ctx context.Context, client *es.Client, op operation[T]) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanicked, p)
		}
	}()
	return op(ctx, client)
}

func (c *Client) newBackOff() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval:     min(20*time.Millisecond, c.conf.MaxBackOff),
		RandomizationFactor: 0.5,
		Multiplier:          2,
		MaxInterval:         c.conf.MaxBackOff,
	}
}

// sleep is false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// failuresToOpen in a row mean an outage.
const failuresToOpen = 5

func newBreaker(conf Config) *gobreaker.TwoStepCircuitBreaker[any] {
	return gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Name:        "event store",
		MaxRequests: 1,
		Timeout:     conf.BreakerPause,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= failuresToOpen },
		IsExcluded: func(err error) bool {
			return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errClosed)
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			conf.Logger.Warn("the circuit to the event store changed", "state", to.String())
		},
	})
}
