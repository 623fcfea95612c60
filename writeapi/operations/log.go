package operations

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/http/web"
)

const (
	longestLogStream = 24 * time.Hour
	logStreams       = 8 // concurrent
	logIdle          = 5 * time.Second
	logBuffer        = 64 << 10
)

// Log lets operators and auditors read the log's events as they are. Sealed data stays sealed.
type Log struct {
	Log      eventlog.Log
	Identity eventlog.Identity
	Types    []string // of events
	Streams  []string // names of streams, or prefixes of names

	streams atomic.Int64
}

// AdminRoutes returns the rows for the admin route table.
func (l *Log) AdminRoutes() []web.Route {
	roles, tag := web.Role("operator", "auditor"), web.Tag("Log")
	copies := web.Acts(web.Act{Kind: audit.ActCopyLog, Anyway: true, Within: time.Hour})
	return []web.Route{
		web.Get("/admin/log", l.read, roles, tag, copies, web.Resumed(longestLogStream),
			web.Summary("The events of the log, as a stream of records"),
			web.Description("Each record is an event in the event store's own protocol, preceded by its length; the first and "+
				"the last one frame the stream, so that a cut is detected. "+
				"A stream that was cut can be resumed with `after`, the position of the last event."),
			web.ReturnsMedia([]string{logcopy.ContentType}), web.Refuses(http.StatusServiceUnavailable)),
		web.Get("/admin/log/events", l.list, roles, tag, copies, web.Summary("Events of the log in JSON, newest first"),
			web.Description("A page also ends after 20,000 events that do not match, or 1 MiB, so it may be short, or empty, "+
				"while `next` has more."),
			web.Returns[eventsReply](), web.Refuses(http.StatusServiceUnavailable)),
		web.Get("/admin/log/kinds", l.kinds, roles, tag, web.Summary("The types of events, and the streams that they are in"),
			web.Returns[kindsReply]()),
	}
}

type logRequest struct {
	eventFilter
	After  position `query:"after" default:"0/0" pattern:"^[0-9]{1,20}/[0-9]{1,20}$" doc:"only events after this position"`
	Until  position `query:"until" default:"0/0" pattern:"^[0-9]{1,20}/[0-9]{1,20}$" doc:"only events up to this position; 0/0 is the last one as the request arrives"`
	Follow bool     `query:"follow" default:"false" doc:"continue with later events; until is then ignored"`
}

// eventFilter selects events.
type eventFilter struct {
	Stream  string `query:"stream" default:"" doc:"only events of this stream; of all streams with this prefix, if it ends with *"`
	Type    string `query:"type" default:"" doc:"only events of this type"`
	Account string `query:"account" default:"" doc:"only events that name this id in their stream, data or metadata"`
}

// isOneStream reports whether the filter names a single stream.
func (f eventFilter) isOneStream() bool { return f.Stream != "" && !strings.HasSuffix(f.Stream, "*") }

func (l *Log) read(call *web.Call, in logRequest) (web.Reply, error) {
	after, until := in.After.Position, in.Until.Position
	head, err := l.Log.Head(call)
	if err != nil {
		return web.Reply{}, err
	}
	if until == eventlog.Start() || until.Compare(head) > 0 || in.Follow {
		until = head
	}
	if err := l.admit(); err != nil {
		return web.Reply{}, err
	}
	context.AfterFunc(call, func() { l.streams.Add(-1) })
	reading := reading{log: l.Log, wanted: in, header: logcopy.Header{Identity: l.Identity, After: after, Until: until}}
	return web.Stream(logcopy.ContentType, reading.write), nil
}

// admit counts a reader of the log in streams, which the caller must decrement, or refuses one too many.
func (l *Log) admit() error {
	if l.streams.Add(1) > logStreams {
		l.streams.Add(-1)
		return &web.Error{Status: http.StatusServiceUnavailable,
			Message: "Too many copies of the log are being read", RetryAfter: 10 * time.Second}
	}
	return nil
}

// position is a position of the log in an address.
type position struct{ eventlog.Position }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *position) UnmarshalText(text []byte) (err error) {
	p.Position, err = eventlog.ParsePosition(string(text))
	return err
}

// reading is one reply.
type reading struct {
	log    eventlog.Log
	wanted logRequest
	header logcopy.Header
	out    *bufio.Writer
	events *logcopy.Writer
}

func (r *reading) write(ctx context.Context, w io.Writer) (err error) {
	r.out = bufio.NewWriterSize(w, logBuffer)
	if r.events, err = logcopy.NewWriter(r.out, r.header); err != nil {
		return err
	}
	if err := r.past(ctx); err != nil {
		return err
	}
	if r.wanted.Follow {
		return r.follow(ctx)
	}
	if err := r.events.End(); err != nil {
		return err
	}
	return r.out.Flush()
}

// past writes the events up to the end of the range. Events of a single stream are read from that stream.
func (r *reading) past(ctx context.Context) error {
	after, until := r.header.After, r.header.Until
	events := logcopy.Read(ctx, r.log, after, until)
	if r.wanted.isOneStream() {
		events = r.log.ReadStream(ctx, r.wanted.Stream, 0)
	}
	for event, err := range events {
		if err != nil {
			return err
		}
		if event.Position.Compare(until) > 0 {
			return nil
		}
		if event.Position.Compare(after) <= 0 || !r.wanted.includes(event) {
			continue
		}
		if err := r.events.Write(event); err != nil {
			return err
		}
	}
	return nil
}

// follow writes later events, until the stream is cut.
func (r *reading) follow(ctx context.Context) error {
	subscription := r.log.Subscribe(ctx, journal.Later(r.header.After, r.header.Until))
	idle := time.NewTicker(logIdle)
	defer idle.Stop()
	for {
		if err := r.out.Flush(); err != nil {
			return err
		}
		select {
		case delivery, open := <-subscription.Deliveries():
			if !open {
				return fmt.Errorf("following the log: %w", subscription.Err())
			}
			if err := r.deliver(subscription, delivery); err != nil {
				return err
			}
		case <-idle.C:
			if err := r.events.Idle(); err != nil {
				return err
			}
		}
	}
}

// deliver writes a delivery and the waiting ones after it.
func (r *reading) deliver(subscription eventlog.Subscription, delivery eventlog.Delivery) error {
	for open := true; open; {
		if delivery.Kind == eventlog.KindEvent && r.wanted.includes(delivery.Event) {
			if err := r.events.Write(delivery.Event); err != nil {
				return err
			}
		}
		select {
		case delivery, open = <-subscription.Deliveries():
		default:
			return nil
		}
	}
	return fmt.Errorf("following the log: %w", subscription.Err())
}

func (f eventFilter) includes(event eventlog.Recorded) bool {
	prefix, isPrefix := strings.CutSuffix(f.Stream, "*")
	named := func(where []byte) bool { return bytes.Contains(where, []byte(f.Account)) }
	return (f.Stream == "" || event.Stream == f.Stream || isPrefix && strings.HasPrefix(event.Stream, prefix)) &&
		(f.Type == "" || event.Type == f.Type) &&
		(f.Account == "" || strings.Contains(event.Stream, f.Account) || named(event.Data) || named(event.Metadata))
}
