package esdb

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/pause"
)

// deliveriesAhead is the number of deliveries that are buffered for a slow reader. gRPC's flow control holds back
// further ones.
const deliveriesAhead = 256

// subscription resumes after the last event that it delivered. It does not use the event store's checkpoints: they
// would only save scanning system events again, and in some releases they can be ahead of an event (KurrentDB issues
// 4970 and 4975).
type subscription struct {
	client      *Client
	deliveries  chan eventlog.Delivery
	after       eventlog.Position
	interrupted bool // reported as interrupted and not caught up since

	ended chan struct{}
	err   error // valid once ended is closed
}

// Subscribe implements eventlog.Log. The subscription ends when ctx ends, when the client is closed, or when the event
// store refuses it.
func (c *Client) Subscribe(ctx context.Context, after eventlog.Position) eventlog.Subscription {
	s := &subscription{
		client:     c,
		deliveries: make(chan eventlog.Delivery, deliveriesAhead),
		after:      after,
		ended:      make(chan struct{}),
	}
	if !c.supervisor.spawn(func() { s.end(s.run(ctx)) }) {
		s.end(fmt.Errorf("%w: %w", eventlog.ErrUnavailable, errClosed))
	}
	return s
}

// Deliveries implements eventlog.Subscription.
func (s *subscription) Deliveries() <-chan eventlog.Delivery { return s.deliveries }

// Err implements eventlog.Subscription. It returns nil until Deliveries is closed.
func (s *subscription) Err() error {
	select {
	case <-s.ended:
		return s.err
	default:
		return nil
	}
}

func (s *subscription) end(err error) {
	s.err = err
	close(s.ended)
	close(s.deliveries)
}

// run follows the log until ctx ends, and resumes after outages.
func (s *subscription) run(ctx context.Context) error {
	open, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.client.closing, cancel)()
	pauses := s.client.newBackOff()
	for {
		before := s.after
		err := s.follow(open)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case open.Err() != nil:
			return fmt.Errorf("%w: %w", eventlog.ErrUnavailable, errClosed)
		case isForbidden(err):
			return fmt.Errorf("subscribing to the log: %w", refusedAll(err))
		}
		if !s.interrupted {
			s.interrupted = true
			s.client.conf.Logger.Warn("the subscription to the log was interrupted", "code", status.Code(err).String())
			s.deliver(open, eventlog.Delivery{Kind: eventlog.KindInterrupted})
		}
		if s.after != before {
			pauses.Reset()
		}
		_ = pause.For(open, pauses.NextBackOff()) // follow notices the end
	}
}

// follow delivers events from one connection until it fails.
func (s *subscription) follow(ctx context.Context) error {
	stream, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := s.client.supervisor.begin(stream)
	if err != nil {
		return err
	}
	defer conn.done()
	// A subscription may have no way to detect a failure of its connection itself, so it ends when another call detects
	// one.
	defer context.AfterFunc(conn.retired, cancel)()

	// It does not require the leader, because all nodes have the events in the same order.
	_, err = recovering(stream, conn, func(ctx context.Context, conn *connection) (struct{}, error) {
		return struct{}{}, s.receive(ctx, conn, cancel)
	})
	if isBroken(err) && ctx.Err() == nil {
		conn.retire()
	}
	return err
}

// receive opens a subscription within the timeout of an attempt, and delivers its events.
func (s *subscription) receive(ctx context.Context, conn *connection, cancel context.CancelFunc) error {
	opening := time.AfterFunc(s.client.conf.AttemptTimeout, cancel)
	next, err := conn.subscribe(ctx, s.after)
	opening.Stop()
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		switch message, err := next(); {
		case err != nil:
			return err
		case message.event != nil:
			s.take(ctx, *message.event)
		case message.caughtUp:
			s.interrupted = false
			s.deliver(ctx, eventlog.Delivery{Kind: eventlog.KindCaughtUp})
		}
	}
	return ctx.Err()
}

// received is a message of a subscription. The zero value is one without a meaning here.
type received struct {
	event    *eventlog.Recorded
	caughtUp bool
}

// take delivers an event, unless it is a system event or was delivered before.
func (s *subscription) take(ctx context.Context, event eventlog.Recorded) {
	if isSystem(event) || event.Position.Compare(s.after) <= 0 {
		return
	}
	if s.deliver(ctx, eventlog.Delivery{Kind: eventlog.KindEvent, Event: event}) {
		s.after = event.Position
	}
}

// deliver returns false if ctx ends first.
func (s *subscription) deliver(ctx context.Context, d eventlog.Delivery) bool {
	select {
	case s.deliveries <- d:
		return true
	case <-ctx.Done():
		return false
	}
}

// isForbidden reports whether a retry cannot succeed.
func isForbidden(err error) bool {
	return hasStatus(err, codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented, codes.InvalidArgument)
}
