package esdb

import (
	"context"
	"fmt"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

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
		if conn.batch == nil {
			return conn.append(ctx, stream, expected, events)
		}
		return conn.batch.append(ctx, stream, expected, events)
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

// append makes a call of the library for the append.
func (c *connection) append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	options := es.AppendToStreamOptions{ExpectedRevision: expectedRevision(expected)}
	result, err := c.client.AppendToStream(ctx, stream, options, eventData(events)...)
	if err != nil {
		return eventlog.Appended{}, err
	}
	return eventlog.Appended{
		Revision: eventlog.Revision(result.NextExpectedVersion),
		Position: eventlog.Position{Commit: result.CommitPosition, Prepare: result.PreparePosition},
	}, nil
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

func expectedRevision(expected eventlog.Revision) es.ExpectedRevision {
	if expected == eventlog.NoStream {
		return es.NoStream{}
	}
	return es.Revision(uint64(expected))
}

func contentType(e eventlog.Proposed) string {
	if e.Binary {
		return binaryContent
	}
	return jsonContent
}

func eventData(events []eventlog.Proposed) []es.EventData {
	data := make([]es.EventData, len(events))
	for i, e := range events {
		content := es.ContentTypeJson
		if e.Binary {
			content = es.ContentTypeBinary
		}
		data[i] = es.EventData{
			EventID:     e.ID,
			EventType:   e.Type,
			ContentType: content,
			Data:        e.Data,
			Metadata:    e.Metadata,
		}
	}
	return data
}
