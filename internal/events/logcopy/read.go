package logcopy

import (
	"context"
	"fmt"
	"iter"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Read yields the events of the log after a position, up to and including until, or up to the log's head as it is when
// the reading begins if until is the start or past it. System events are left out. After a non-nil error nothing more
// is yielded. It waits for a log that is away, and holds a bounded number of events.
func Read(ctx context.Context, log eventlog.Log, after, until eventlog.Position) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		head, err := log.Head(ctx)
		if err != nil {
			yield(eventlog.Recorded{}, err)
			return
		}
		if until == eventlog.Start() || until.Compare(head) > 0 {
			until = head
		}
		if after.Compare(until) >= 0 {
			return
		}
		for event, err := range Follow(ctx, log, after) {
			if err == nil && event.Position.Compare(until) > 0 {
				return
			}
			if !yield(event, err) || err != nil || event.Position == until {
				return
			}
		}
	}
}

// Follow yields the events of the log after a position, and those that are written later, until ctx ends or the log
// refuses.
func Follow(ctx context.Context, log eventlog.Log, after eventlog.Position) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		subscription := log.Subscribe(ctx, after)
		for delivery := range subscription.Deliveries() {
			if delivery.Kind == eventlog.KindEvent && !yield(delivery.Event, nil) {
				return
			}
		}
		yield(eventlog.Recorded{}, fmt.Errorf("reading the log: %w", subscription.Err()))
	}
}
