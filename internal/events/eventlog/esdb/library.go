package esdb

import (
	"context"
	"fmt"
	"log/slog"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/protocol"
)

// library is a server through a client of the library. The library (v4.2.0) has defects in everything that it does
// after a failure. It discovers the node again without closing the failed connection. If that discovery fails, it
// becomes unusable, and callers that are waiting for it never return. Close makes callers panic that are about to
// report a failure. A client therefore never reaches a second discovery: a call that finds it unavailable leaves the
// library before reporting the failure there.
type library struct{ client *es.Client }

func openLibrary(conf es.Configuration, logger *slog.Logger, redirected func(leader string)) (*library, error) {
	conf.Logger = logTo(logger, redirected)
	client, err := es.NewClient(&conf)
	if err != nil {
		return nil, err
	}
	if _, err := client.GetServerVersion(); err != nil {
		return nil, err // the library has already released this client's resources
	}
	return &library{client}, nil
}

func (l *library) close() { _ = l.client.Close() } // always nil

func (l *library) append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	options := es.AppendToStreamOptions{ExpectedRevision: expectedRevision(expected)}
	result, err := l.client.AppendToStream(ctx, stream, options, eventData(events)...)
	if err != nil {
		return eventlog.Appended{}, err
	}
	return eventlog.Appended{
		Revision: eventlog.Revision(result.NextExpectedVersion),
		Position: eventlog.Position{Commit: result.CommitPosition, Prepare: result.PreparePosition},
	}, nil
}

func expectedRevision(expected eventlog.Revision) es.ExpectedRevision {
	if expected == eventlog.NoStream {
		return es.NoStream{}
	}
	return es.Revision(uint64(expected))
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

func (l *library) read(ctx context.Context, from place, size int) (page, error) {
	events, err := l.open(ctx, from, uint64(size))
	if err != nil {
		return page{}, err
	}
	defer events.Close()
	p, err := collect(size, func() (eventlog.Recorded, error) {
		resolved, err := events.Recv()
		if err != nil {
			return eventlog.Recorded{}, err
		}
		return recorded(resolved.Event), nil
	})
	if hasCode(err, es.ErrorCodeResourceNotFound) {
		return page{last: true}, nil
	}
	return p, err
}

func (l *library) open(ctx context.Context, from place, count uint64) (*es.ReadStream, error) {
	direction := es.Forwards
	if from.backwards {
		direction = es.Backwards
	}
	if from.stream == "" {
		options := es.ReadAllOptions{Direction: direction, From: es.End{}}
		if !from.end {
			options.From = es.Position{Commit: from.position.Commit, Prepare: from.position.Prepare}
		}
		return l.client.ReadAll(ctx, options, count)
	}
	options := es.ReadStreamOptions{Direction: direction, From: es.End{}}
	if !from.end {
		options.From = es.Revision(from.revision)
	}
	return l.client.ReadStream(ctx, from.stream, options, count)
}

// A filtered subscription examines searchWindow events per batch, and sends a checkpoint after windowsPerMessage
// batches. With the library's defaults, 32 and 1, every 33rd message is a checkpoint.
const (
	searchWindow      = 512
	windowsPerMessage = 64
)

func (l *library) subscribe(
	ctx context.Context, after eventlog.Position,
) (next func() (received, error), err error) {
	options := es.SubscribeToAllOptions{
		From:               es.Start{},
		Filter:             es.ExcludeSystemEventsFilter(),
		MaxSearchWindow:    searchWindow,
		CheckpointInterval: windowsPerMessage,
	}
	if after != eventlog.Start() {
		options.From = es.Position{Commit: after.Commit, Prepare: after.Prepare}
	}
	subscription, err := l.client.SubscribeToAll(ctx, options)
	if err != nil {
		return nil, err
	}
	return func() (received, error) {
		message := subscription.Recv()
		switch {
		case message.SubscriptionDropped != nil:
			return received{}, message.SubscriptionDropped.Error
		case message.EventAppeared != nil:
			event := recorded(message.EventAppeared.Event)
			return received{event: &event}, nil
		default:
			return received{caughtUp: message.CaughtUp != nil}, nil
		}
	}, nil
}

func recorded(event *es.RecordedEvent) eventlog.Recorded {
	return eventlog.Recorded{
		ID:       event.EventID,
		Stream:   event.StreamID,
		Revision: event.EventNumber,
		Position: eventlog.Position{Commit: event.Position.Commit, Prepare: event.Position.Prepare},
		Type:     event.EventType,
		Data:     event.Data,
		Metadata: event.UserMetadata,
		Binary:   event.ContentType == protocol.ContentTypeBinary,
		Created:  event.CreatedDate,
	}
}

// The formats of messages that the library logs before it acts.
const (
	// on the caller's goroutine, before the library's connection goroutine discovers a node again
	failureReport  = "unexpected exception: %v"
	redirectReport = "Connecting to leader node %s ..." // on the library's connection goroutine
)

// unreported is the panic value that takes a call out of the library. It is handled by recovering.
type unreported struct{ err error }

// logTo returns a function that forwards the library's log, and intercepts the messages before which the library must
// be stopped.
func logTo(logger *slog.Logger, redirected func(leader string)) es.LoggingFunc {
	return func(level es.LogLevel, format string, args ...any) {
		logger.Debug("event store client", "level", level, "message", fmt.Sprintf(format, withoutTexts(args)...))
		if len(args) != 1 {
			return
		}
		switch arg := args[0].(type) {
		case error:
			if format == failureReport && status.Code(arg) == codes.Unavailable {
				panic(unreported{arg})
			}
		case string:
			// Calls that are waiting in the library follow it to the leader. All other calls get there with a new connection.
			if format == redirectReport {
				redirected(arg)
			}
		}
	}
}

// withoutTexts replaces errors by their codes, because error texts may quote requests.
func withoutTexts(args []any) []any {
	safe := make([]any, len(args))
	for i, arg := range args {
		safe[i] = arg
		if err, ok := arg.(error); ok {
			safe[i] = status.Code(err)
		}
	}
	return safe
}
