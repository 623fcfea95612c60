package esdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// A read is done in pages. A page is read completely before its first event is yielded, so that it can be repeated
// after a failure. The first pages are small, because many readers need only the last one or two events.
const (
	firstPage    = 16
	largestPage  = 512
	maxPageBytes = 4 << 20
)

// page is a part of a read.
type page struct {
	events []eventlog.Recorded
	last   bool // there are no further pages
}

// place is where a page begins, and its direction.
type place struct {
	stream    string // "" means the log, which is only read backwards
	backwards bool
	end       bool              // from the end, otherwise from one of these
	revision  uint64            // in a stream, inclusive
	position  eventlog.Position // in the log, exclusive
}

// ReadStream implements eventlog.Log.
func (c *Client) ReadStream(ctx context.Context, stream string, from uint64) iter.Seq2[eventlog.Recorded, error] {
	return c.pages(ctx, place{stream: stream, revision: from}, func(last uint64) (next uint64, more bool) {
		return last + 1, true
	})
}

// ReadStreamBackwards implements eventlog.Log.
func (c *Client) ReadStreamBackwards(ctx context.Context, stream string) iter.Seq2[eventlog.Recorded, error] {
	return c.pages(ctx, place{stream: stream, backwards: true, end: true}, func(last uint64) (next uint64, more bool) {
		return last - 1, last > 0
	})
}

// pages yields a stream's events. after returns the revision that follows the last one of a page.
func (c *Client) pages(
	ctx context.Context, from place, after func(last uint64) (next uint64, more bool),
) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		at := from
		for size := firstPage; ; size = min(size*4, largestPage) {
			p, _, err := repeat(ctx, c, reads, readPage(at, size))
			if err != nil {
				yield(eventlog.Recorded{}, fmt.Errorf("reading stream %s: %w", from.stream, explained(err)))
				return
			}
			for _, event := range p.events {
				if !yield(event, nil) {
					return
				}
			}
			if p.last {
				return
			}
			more := false
			if at.revision, more = after(p.events[len(p.events)-1].Revision); !more {
				return
			}
			at.end = false
		}
	}
}

// readPage returns the operation that reads a page.
func readPage(from place, size int) operation[page] {
	return func(ctx context.Context, conn *connection) (page, error) { return conn.read(ctx, from, size) }
}

// Head implements eventlog.Log. It is called often, and the last event is hardly ever a system event, so it reads one
// event first.
func (c *Client) Head(ctx context.Context) (eventlog.Position, error) {
	from := place{backwards: true, end: true}
	for size := 1; ; size = min(size*firstPage, largestPage) {
		p, _, err := repeat(ctx, c, reads, readPage(from, size))
		if err != nil && isRefusal(err) {
			err = refusedAll(err)
		}
		if err != nil {
			return eventlog.Position{}, fmt.Errorf("reading the head of the log: %w", err)
		}
		for _, event := range p.events {
			if !isSystem(event) {
				return event.Position, nil
			}
		}
		if p.last {
			return eventlog.Start(), nil
		}
		from = place{backwards: true, position: p.events[len(p.events)-1].Position}
	}
}

// collect receives the events of a page until io.EOF.
func collect(size int, next func() (eventlog.Recorded, error)) (page, error) {
	var p page
	for bytes := 0; bytes < maxPageBytes; {
		event, err := next()
		if errors.Is(err, io.EOF) {
			p.last = len(p.events) < size
			return p, nil
		}
		if err != nil {
			return page{}, err
		}
		bytes += len(event.Data) + len(event.Metadata)
		p.events = append(p.events, event)
	}
	return p, nil
}

// explained replaces a refusal by an error without the event store's own text.
func explained(err error) error {
	if err != nil && isRefusal(err) {
		return refused(err)
	}
	return err
}

// isSystem reports whether an event is one of the server's own, whose types start with "$".
func isSystem(event eventlog.Recorded) bool { return strings.HasPrefix(event.Type, "$") }
