package esdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

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

// ReadStream implements eventlog.Log.
func (c *Client) ReadStream(ctx context.Context, stream string, from uint64) iter.Seq2[eventlog.Recorded, error] {
	return c.pages(ctx, stream, func(previous *eventlog.Recorded) (es.ReadStreamOptions, bool) {
		options := es.ReadStreamOptions{Direction: es.Forwards, From: es.Revision(from)}
		if previous != nil {
			options.From = es.Revision(previous.Revision + 1)
		}
		return options, true
	})
}

// ReadStreamBackwards implements eventlog.Log.
func (c *Client) ReadStreamBackwards(ctx context.Context, stream string) iter.Seq2[eventlog.Recorded, error] {
	return c.pages(ctx, stream, func(previous *eventlog.Recorded) (es.ReadStreamOptions, bool) {
		options := es.ReadStreamOptions{Direction: es.Backwards, From: es.End{}}
		switch {
		case previous == nil:
		case previous.Revision == 0:
			return options, false
		default:
			options.From = es.Revision(previous.Revision - 1)
		}
		return options, true
	})
}

// pages yields a stream's events. next returns the options of the page after an event, or false if there is none.
func (c *Client) pages(
	ctx context.Context, stream string, next func(previous *eventlog.Recorded) (es.ReadStreamOptions, bool),
) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		var previous *eventlog.Recorded
		for size := firstPage; ; size = min(size*4, largestPage) {
			options, more := next(previous)
			if !more {
				return
			}
			p, err := c.streamPage(ctx, stream, options, size)
			if err != nil {
				yield(eventlog.Recorded{}, fmt.Errorf("reading stream %s: %w", stream, err))
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
			previous = &p.events[len(p.events)-1]
		}
	}
}

func (c *Client) streamPage(ctx context.Context, stream string, options es.ReadStreamOptions, size int) (page, error) {
	p, _, err := repeat(ctx, c, reads, func(ctx context.Context, conn *connection) (page, error) {
		events, err := conn.client.ReadStream(ctx, stream, options, uint64(size))
		if err != nil {
			return page{}, err
		}
		return collect(events, size)
	})
	if hasCode(err, es.ErrorCodeResourceNotFound) {
		return page{last: true}, nil
	}
	return p, explained(err)
}

// Head implements eventlog.Log. It is called often, and the last event is hardly ever a system event, so it reads one
// event first.
func (c *Client) Head(ctx context.Context) (eventlog.Position, error) {
	var from es.AllPosition = es.End{}
	for size := 1; ; size = min(size*firstPage, largestPage) {
		p, err := c.allPageBackwards(ctx, from, size)
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
		last := p.events[len(p.events)-1].Position
		from = es.Position{Commit: last.Commit, Prepare: last.Prepare} // a position is exclusive when reading backwards
	}
}

func (c *Client) allPageBackwards(ctx context.Context, from es.AllPosition, size int) (page, error) {
	p, _, err := repeat(ctx, c, reads, readBackwards(from, size))
	if err != nil && isRefusal(err) {
		return p, refusedAll(err)
	}
	return p, err
}

// readBackwards returns the operation that reads events before a position of the log, the latest first.
func readBackwards(from es.AllPosition, size int) operation[page] {
	return func(ctx context.Context, conn *connection) (page, error) {
		events, err := conn.client.ReadAll(ctx, es.ReadAllOptions{Direction: es.Backwards, From: from}, uint64(size))
		if err != nil {
			return page{}, err
		}
		return collect(events, size)
	}
}

// collect reads a page from the library and closes its gRPC stream.
func collect(stream *es.ReadStream, size int) (page, error) {
	defer stream.Close()
	var p page
	for bytes := 0; bytes < maxPageBytes; {
		resolved, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			p.last = len(p.events) < size
			return p, nil
		}
		if err != nil {
			return page{}, err
		}
		event := recorded(resolved.Event)
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

// The protocol's content types, of JSON and of all other data.
const (
	jsonContent   = "application/json"
	binaryContent = "application/octet-stream"
)

func recorded(event *es.RecordedEvent) eventlog.Recorded {
	return eventlog.Recorded{
		ID:       event.EventID,
		Stream:   event.StreamID,
		Revision: event.EventNumber,
		Position: eventlog.Position{Commit: event.Position.Commit, Prepare: event.Position.Prepare},
		Type:     event.EventType,
		Data:     event.Data,
		Metadata: event.UserMetadata,
		Binary:   event.ContentType == binaryContent,
		Created:  event.CreatedDate,
	}
}
