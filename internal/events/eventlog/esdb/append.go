package esdb

import (
	"context"
	"fmt"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Append implements eventlog.Log. Appending no events does nothing and returns the start position.
func (c *Client) Append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	if err := ctx.Err(); err != nil {
		return eventlog.Appended{}, err
	}
	if expected < eventlog.NoStream { // on the wire it could mean "any revision"
		return eventlog.Appended{}, fmt.Errorf("appending to stream %s: %d is no revision to expect", stream, expected)
	}
	if len(events) == 0 {
		return eventlog.Appended{Revision: expected}, nil
	}
	if c.tooLarge(events) {
		return eventlog.Appended{}, fmt.Errorf("appending to stream %s: %w", stream, eventlog.ErrTooLarge)
	}
	return c.append(ctx, stream, expected, events)
}

func (c *Client) append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	result, tries, err := repeat(ctx, c, writes, func(ctx context.Context, conn *connection) (eventlog.Appended, error) {
		return conn.append(ctx, stream, expected, events)
	})
	switch {
	case err == nil:
		return result, nil
	case isConflict(err) && tries.open:
		return c.landed(ctx, stream, expected, events, err)
	case isConflict(err):
		return eventlog.Appended{}, conflict(stream, expected, err)
	case isRefusal(err) && tries.open && !isTooLarge(err):
		// This attempt wrote nothing; the outcome of an earlier one is unknown.
		return eventlog.Appended{}, fmt.Errorf("appending to stream %s: %w: %w", stream, eventlog.ErrUnavailable,
			refused(err))
	default:
		return eventlog.Appended{}, fmt.Errorf("appending to stream %s: %w", stream, explained(err))
	}
}

// landed checks whether a repeated append conflicts with its own earlier attempt, whose response was lost. If so, it
// returns the result of that attempt. The event store itself detects most of these cases. If the revisions hold other
// events, the append was not written and cannot be written later, so landed returns the conflict.
func (c *Client) landed(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed, reason error,
) (eventlog.Appended, error) {
	found := eventlog.Appended{Revision: expected}
	matched := 0
	for recorded, err := range c.ReadStream(ctx, stream, uint64(expected+1)) {
		if err != nil { // even a refused read leaves the outcome unknown
			return eventlog.Appended{}, fmt.Errorf("%w: looking for an append of unknown outcome: %w", eventlog.ErrUnavailable,
				err)
		}
		if recorded.ID != events[matched].ID {
			break
		}
		found = eventlog.Appended{Revision: eventlog.Revision(recorded.Revision), Position: recorded.Position}
		if matched++; matched == len(events) {
			return found, nil
		}
	}
	return eventlog.Appended{}, conflict(stream, expected, reason)
}

// tooLarge reports whether an append exceeds the limit. It counts as EventStoreDB does: data, metadata and the type in
// UTF-16. Without this check, a server may disconnect in the middle of the request, which looks like a broken
// connection.
func (c *Client) tooLarge(events []eventlog.Proposed) bool {
	size := 0
	for _, e := range events {
		size += len(e.Data) + len(e.Metadata) + 2*len(e.Type)
	}
	return size > c.conf.MaxAppendBytes
}
