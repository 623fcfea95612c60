package logtest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Reader receives a subscription's deliveries and keeps the events of some streams. It fails the test if positions do
// not increase.
type Reader struct {
	eventlog.Subscription
	Interruptions int

	ours func(stream string) bool
	last eventlog.Position
}

// NewReader returns a reader of the events of the streams for which ours returns true.
func NewReader(s eventlog.Subscription, after eventlog.Position, ours func(stream string) bool) *Reader {
	return &Reader{Subscription: s, ours: ours, last: after}
}

func streamIs(stream string) func(string) bool {
	return func(other string) bool { return other == stream }
}

// Next returns the next n events of these streams.
func (r *Reader) Next(t testing.TB, n int) []eventlog.Recorded {
	t.Helper()
	var got []eventlog.Recorded
	for len(got) < n {
		delivery := r.delivery(t)
		if delivery.Kind == eventlog.KindEvent && r.ours(delivery.Event.Stream) {
			got = append(got, delivery.Event)
		}
	}
	return got
}

// CaughtUp returns the events of these streams up to the next KindCaughtUp.
func (r *Reader) CaughtUp(t testing.TB) []eventlog.Recorded {
	t.Helper()
	var got []eventlog.Recorded
	for {
		delivery := r.delivery(t)
		switch {
		case delivery.Kind == eventlog.KindCaughtUp:
			return got
		case delivery.Kind == eventlog.KindEvent && r.ours(delivery.Event.Stream):
			got = append(got, delivery.Event)
		}
	}
}

func (r *Reader) delivery(t testing.TB) eventlog.Delivery {
	t.Helper()
	delivery, open := <-r.Deliveries()
	require.True(t, open, "the subscription ended: %v", r.Err())
	switch delivery.Kind {
	case eventlog.KindInterrupted:
		r.Interruptions++
	case eventlog.KindEvent:
		require.Positive(t, delivery.Event.Position.Compare(r.last), "each event once, in log order")
		require.NotEqual(t, byte('$'), delivery.Event.Type[0], "no system events")
		r.last = delivery.Event.Position
	}
	return delivery
}

func subscribeFromStart(t *testing.T, log *bench) {
	stream := newStream()
	log.fill(t, stream, 20)
	reader := NewReader(log.Subscribe(log.ctx, eventlog.Start()), eventlog.Start(), streamIs(stream))

	require.Equal(t, log.forwards(t, stream, 0), reader.CaughtUp(t), "what a read gives, positions included")

	for i := range 10 {
		last := log.appended(t, stream, eventlog.Revision(19+i), events(fmt.Sprint("live ", i))...)
		live := reader.Next(t, 1)
		require.Equal(t, last.Position, live[0].Position)
	}
	require.NoError(t, reader.Err())
	require.Zero(t, reader.Interruptions)
}

func subscribeAfter(t *testing.T, log *bench) {
	stream := newStream()
	middle := log.appended(t, stream, eventlog.NoStream, events("a", "b")...)
	log.appended(t, stream, 1, events("c", "d")...)
	log.appended(t, newStream(), eventlog.NoStream, events("another stream")...)

	reader := NewReader(log.Subscribe(log.ctx, middle.Position), middle.Position, streamIs(stream))
	require.Equal(t, log.forwards(t, stream, 2), reader.Next(t, 2), "the position itself is left out")

	head, err := log.Head(log.ctx)
	require.NoError(t, err)
	tail := NewReader(log.Subscribe(log.ctx, head), head, streamIs(stream))
	require.Empty(t, tail.CaughtUp(t))
	log.appended(t, stream, 3, events("e")...)
	require.Equal(t, log.forwards(t, stream, 4), tail.Next(t, 1))
}

func subscribeWithinAppend(t *testing.T, log *bench) {
	stream := newStream()
	log.appended(t, stream, eventlog.NoStream, events("a", "b", "c", "d")...)
	all := log.forwards(t, stream, 0)
	for i, event := range all {
		reader := NewReader(log.Subscribe(log.ctx, event.Position), event.Position, streamIs(stream))
		require.ElementsMatch(t, all[i+1:], reader.CaughtUp(t))
	}
}

func subscribeTwice(t *testing.T, log *bench) {
	stream := newStream()
	before := log.appended(t, newStream(), eventlog.NoStream, events("before")...).Position
	first := NewReader(log.Subscribe(log.ctx, before), before, streamIs(stream))
	first.CaughtUp(t)
	middle := log.appended(t, stream, eventlog.NoStream, events("a", "b")...).Position
	ctx, cancel := context.WithCancel(log.ctx)
	defer cancel()
	second := NewReader(log.Subscribe(ctx, middle), middle, streamIs(stream))
	second.CaughtUp(t)

	log.appended(t, stream, 1, events("c")...)
	require.Equal(t, log.forwards(t, stream, 2), second.Next(t, 1))
	cancel()
	log.appended(t, stream, 2, events("d")...)
	require.Equal(t, log.forwards(t, stream, 0), first.Next(t, 4), "the end of another one does not touch it")
}

func subscribeSlowReader(t *testing.T, log *bench) {
	stream := newStream()
	before := log.appended(t, newStream(), eventlog.NoStream, events("before")...)
	reader := NewReader(log.Subscribe(log.ctx, before.Position), before.Position, streamIs(stream))
	reader.CaughtUp(t)

	ids := proposedIDs(log.fill(t, stream, 5000)) // they are not read yet

	require.Equal(t, ids, recordedIDs(reader.Next(t, 5000)))
}

func subscribeConcurrentWriters(t *testing.T, log *bench) {
	const writers, each = 8, 50
	before := log.appended(t, newStream(), eventlog.NoStream, events("before")...)
	streams := map[string]eventlog.Revision{}
	var wait sync.WaitGroup
	for range writers {
		stream := newStream()
		streams[stream] = eventlog.NoStream
		wait.Go(func() {
			for i := range each {
				_, err := log.Append(log.ctx, stream, eventlog.Revision(i-1), events("x"))
				if err != nil {
					t.Errorf("appending: %v", err)
					return
				}
			}
		})
	}
	reader := NewReader(log.Subscribe(log.ctx, before.Position), before.Position, func(stream string) bool {
		_, ours := streams[stream]
		return ours
	})
	for _, event := range reader.Next(t, writers*each) {
		streams[event.Stream]++
		require.EqualValues(t, streams[event.Stream], event.Revision, "without a gap in any stream")
	}
	wait.Wait()
}

// A reader that continues after the end of a subscription finds no gap, and no false KindCaughtUp.
func subscribeEndsWithoutGap(t *testing.T, log *bench) {
	stream := newStream()
	log.fill(t, stream, 200)
	for read := range 40 {
		ctx, cancel := context.WithCancel(log.ctx)
		subscription := log.Subscribe(ctx, eventlog.Start())
		next := uint64(0)
		for delivery := range subscription.Deliveries() {
			if delivery.Kind == eventlog.KindEvent && delivery.Event.Stream == stream {
				require.Equal(t, next, delivery.Event.Revision)
				next++
			}
			if next == uint64(read) {
				cancel()
			}
			if delivery.Kind == eventlog.KindCaughtUp {
				require.EqualValues(t, 200, next)
			}
			if next == 200 {
				break
			}
		}
		cancel()
	}
}

func subscribeEnds(t *testing.T, log *bench) {
	stream := newStream()
	before := log.appended(t, stream, eventlog.NoStream, events("before")...).Position
	log.appended(t, stream, 0, numbered(1000)...)
	tests := map[string]func(s eventlog.Subscription){
		"while it is unread":  func(eventlog.Subscription) {},
		"while it is live":    func(s eventlog.Subscription) { NewReader(s, before, streamIs(stream)).CaughtUp(t) },
		"after a few of many": func(s eventlog.Subscription) { <-s.Deliveries() },
	}
	for name, read := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(log.ctx)
			subscription := log.Subscribe(ctx, before)
			read(subscription)
			require.NoError(t, subscription.Err(), "while it is open")
			cancel()
			for range subscription.Deliveries() {
				continue // in flight
			}
			require.ErrorIs(t, subscription.Err(), context.Canceled)
		})
	}
}

func subscribeAfterEnd(t *testing.T, log *bench) {
	log.appended(t, newStream(), eventlog.NoStream, events("a")...)
	ctx, cancel := context.WithCancel(log.ctx)
	cancel()
	subscription := log.Subscribe(ctx, eventlog.Start())
	for delivery := range subscription.Deliveries() {
		require.NotEqual(t, eventlog.KindEvent, delivery.Kind)
	}
	require.ErrorIs(t, subscription.Err(), context.Canceled)
}
