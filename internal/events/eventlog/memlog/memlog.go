// Package memlog implements the event log in memory, for tests of commands and process managers. It has no outages.
package memlog

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// maxAppend is the maximum number of bytes of data and metadata in an append. It is EventStoreDB's default.
const maxAppend = 1 << 20

// Log is an eventlog.Log in memory.
type Log struct {
	mu      sync.Mutex
	all     []eventlog.Recorded
	streams map[string][]int // indices into all
	grown   chan struct{}    // closed and replaced by each append
}

// New returns an empty log.
func New() *Log { return &Log{streams: map[string][]int{}, grown: make(chan struct{})} }

// Append implements eventlog.Log.
func (l *Log) Append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	size := 0
	for _, event := range events {
		size += len(event.Data) + len(event.Metadata)
	}
	switch {
	case ctx.Err() != nil:
		return eventlog.Appended{}, ctx.Err()
	case expected < eventlog.NoStream:
		return eventlog.Appended{}, fmt.Errorf("appending to %s: %d is no revision", stream, expected)
	case len(events) == 0:
		return eventlog.Appended{Revision: expected}, nil
	case size > maxAppend:
		return eventlog.Appended{}, fmt.Errorf("appending %d bytes to %s: %w", size, stream, eventlog.ErrTooLarge)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	last := eventlog.Revision(len(l.streams[stream]) - 1)
	if expected != last && !l.has(stream, expected, events) {
		return eventlog.Appended{}, &eventlog.ConflictError{Stream: stream, Expected: expected, Actual: last}
	}
	if expected == last {
		l.write(stream, events)
	}
	end := expected + eventlog.Revision(len(events))
	return eventlog.Appended{Revision: end, Position: l.all[l.streams[stream][end]].Position}, nil
}

// has reports whether these events follow the revision in the stream, as after an identical append.
func (l *Log) has(stream string, revision eventlog.Revision, events []eventlog.Proposed) bool {
	written := l.streams[stream]
	if int(revision)+len(events) >= len(written) {
		return false
	}
	for i, event := range events {
		if l.all[written[int(revision)+1+i]].ID != event.ID {
			return false
		}
	}
	return true
}

func (l *Log) write(stream string, events []eventlog.Proposed) {
	for _, event := range events {
		place := uint64(len(l.all) + 1)
		l.all = append(l.all, eventlog.Recorded{
			ID: event.ID, Stream: stream, Revision: uint64(len(l.streams[stream])),
			Position: eventlog.Position{Commit: place, Prepare: place},
			Type:     event.Type, Data: bytes.Clone(event.Data), Metadata: bytes.Clone(event.Metadata), Binary: event.Binary,
			Created: time.Now().UTC(),
		})
		l.streams[stream] = append(l.streams[stream], len(l.all)-1)
	}
	close(l.grown)
	l.grown = make(chan struct{})
}

// ReadStream implements eventlog.Log.
func (l *Log) ReadStream(ctx context.Context, stream string, from uint64) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		events := l.stream(stream)
		yieldAll(ctx, events[min(from, uint64(len(events))):], yield)
	}
}

// ReadStreamBackwards implements eventlog.Log.
func (l *Log) ReadStreamBackwards(ctx context.Context, stream string) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		events := l.stream(stream)
		slices.Reverse(events)
		yieldAll(ctx, events, yield)
	}
}

// stream returns a copy of a stream's events.
func (l *Log) stream(name string) []eventlog.Recorded {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := make([]eventlog.Recorded, len(l.streams[name]))
	for i, index := range l.streams[name] {
		events[i] = l.all[index]
	}
	return events
}

func yieldAll(ctx context.Context, events []eventlog.Recorded, yield func(eventlog.Recorded, error) bool) {
	for _, event := range events {
		if ctx.Err() != nil {
			break
		}
		if !yield(event, nil) {
			return
		}
	}
	if ctx.Err() != nil {
		yield(eventlog.Recorded{}, ctx.Err())
	}
}

// Head implements eventlog.Log.
func (l *Log) Head(ctx context.Context) (eventlog.Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return eventlog.Start(), ctx.Err()
	}
	return l.all[len(l.all)-1].Position, ctx.Err()
}

// Subscribe implements eventlog.Log.
func (l *Log) Subscribe(ctx context.Context, after eventlog.Position) eventlog.Subscription {
	s := &subscription{ctx: ctx, log: l, deliveries: make(chan eventlog.Delivery)}
	go s.run(int(after.Commit))
	return s
}

type subscription struct {
	ctx        context.Context
	log        *Log
	deliveries chan eventlog.Delivery
	mu         sync.Mutex
	err        error
}

// Deliveries implements eventlog.Subscription.
func (s *subscription) Deliveries() <-chan eventlog.Delivery { return s.deliveries }

// Err implements eventlog.Subscription.
func (s *subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// run delivers the events from index next on. It delivers no event after a gap: when ctx ends, it stops.
func (s *subscription) run(next int) {
	defer close(s.deliveries)
	for live := false; s.ctx.Err() == nil; live = true {
		s.log.mu.Lock()
		events, grown := s.log.all[next:], s.log.grown
		s.log.mu.Unlock()
		if !s.deliver(events) || !live && !s.send(eventlog.Delivery{Kind: eventlog.KindCaughtUp}) {
			break
		}
		next += len(events)
		select {
		case <-grown:
		case <-s.ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = s.ctx.Err()
}

func (s *subscription) deliver(events []eventlog.Recorded) bool {
	for _, event := range events {
		if !s.send(eventlog.Delivery{Kind: eventlog.KindEvent, Event: event}) {
			return false
		}
	}
	return true
}

// send returns false if ctx has ended.
func (s *subscription) send(delivery eventlog.Delivery) bool {
	select {
	case s.deliveries <- delivery:
		return true
	case <-s.ctx.Done():
		return false
	}
}
