package operations

import (
	"context"
	"errors"
	"slices"
	"sort"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
)

const (
	pageRead  = 20_000  // events after which a page ends, at the next head
	pageBytes = 1 << 20 // of data and metadata
)

type eventsRequest struct {
	eventFilter
	Revision int      `query:"revision" default:"-1" ge:"-1" doc:"only the event with this revision of the named stream"`
	Before   position `query:"before" default:"0/0" pattern:"^[0-9]{1,20}/[0-9]{1,20}$" doc:"only events before this position, as next has it; 0/0 is the end of the log"`
	Limit    int      `query:"limit" default:"50" ge:"1" le:"200"`
}

type eventsReply struct {
	Events []adminapi.EventReply `json:"events"` // newest first
	Next   *string               `json:"next" doc:"before of the next page, or null."`
	Read   int                   `json:"read" doc:"The number of events read."`
}

type kindsReply struct {
	Types   []string `json:"types"`
	Streams []string `json:"streams" doc:"Names of streams, or prefixes of names if they end with a hyphen."`
}

func (l *Log) kinds(*web.Call, struct{}) (web.Reply, error) {
	return web.JSON(kindsReply{Types: l.Types, Streams: l.Streams}), nil
}

func (l *Log) list(call *web.Call, in eventsRequest) (web.Reply, error) {
	if in.Revision >= 0 && !in.isOneStream() {
		return web.Reply{}, call.Invalid("revision", "the stream of the event has to be named")
	}
	if err := l.admit(); err != nil {
		return web.Reply{}, err
	}
	defer l.streams.Add(-1)
	page := &eventPage{log: l.Log, wanted: in, reply: eventsReply{Events: []adminapi.EventReply{}}}
	if err := page.fill(call); err != nil {
		return web.Reply{}, err
	}
	return web.JSON(page.reply).WithHeader("Cache-Control", "no-store"), nil
}

// eventPage is a page that is being read.
type eventPage struct {
	log    eventlog.Log
	wanted eventsRequest
	reply  eventsReply
	size   int
}

func (p *eventPage) fill(ctx context.Context) error {
	switch {
	case p.wanted.Revision >= 0:
		for event, err := range p.log.ReadStream(ctx, p.wanted.Stream, uint64(p.wanted.Revision)) {
			if err == nil && event.Revision == uint64(p.wanted.Revision) {
				p.reply.Read++
				if p.wanted.includes(event) {
					p.add(event)
				}
			}
			return err
		}
		return nil
	case p.wanted.isOneStream():
		return p.fillFromStream(ctx)
	}
	return p.fillFromParts(ctx)
}

// fillFromStream reads the stream downwards, in parts of the size of a page.
func (p *eventPage) fillFromStream(ctx context.Context) error {
	end, err := p.countBefore(ctx)
	for full := false; end > 0 && err == nil && !full; end -= min(end, uint64(p.wanted.Limit)) {
		full, err = p.addRevisions(ctx, end-min(end, uint64(p.wanted.Limit)), end)
	}
	return err
}

// countBefore returns the number of events of the stream before the end of the page. A page is requested by position
// and a stream is read by revision, so the revision is found by bisection.
func (p *eventPage) countBefore(ctx context.Context) (count uint64, err error) {
	for last, err := range p.log.ReadStreamBackwards(ctx, p.wanted.Stream) {
		if count = last.Revision + 1; err != nil {
			return 0, err
		}
		break
	}
	before := p.wanted.Before.Position
	if before == eventlog.Start() {
		return count, nil
	}
	found := sort.Search(int(count), func(revision int) bool { //nolint:gosec // no stream has so many events
		for event, failure := range p.log.ReadStream(ctx, p.wanted.Stream, uint64(revision)) { //nolint:gosec // not negative
			err = errors.Join(err, failure)
			return failure != nil || event.Position.Compare(before) >= 0
		}
		return true
	})
	return uint64(found), err //nolint:gosec // not negative
}

// addRevisions adds the events of the stream in a range of revisions, and reports whether the page is full.
func (p *eventPage) addRevisions(ctx context.Context, first, end uint64) (full bool, err error) {
	part := tail{limit: p.wanted.Limit}
	for event, err := range p.log.ReadStream(ctx, p.wanted.Stream, first) {
		if err != nil {
			return false, err
		}
		if event.Revision >= end {
			break
		}
		p.reply.Read++
		if p.wanted.includes(event) {
			part.push(event)
		}
	}
	return p.addTail(part), nil
}

// tail holds the newest events of a part: a page shows no others.
type tail struct {
	limit  int
	events []eventlog.Recorded
	size   int
}

func sizeOf(event eventlog.Recorded) int { return len(event.Data) + len(event.Metadata) }

// push adds a newer event. It drops older ones when there are twice as many as a page can show.
func (t *tail) push(event eventlog.Recorded) {
	t.events, t.size = append(t.events, event), t.size+sizeOf(event)
	if len(t.events) <= 2*t.limit && t.size <= 2*pageBytes {
		return
	}
	first, size := len(t.events), 0
	for len(t.events)-first < t.limit && size < pageBytes {
		first--
		size += sizeOf(t.events[first])
	}
	t.events, t.size = slices.Delete(t.events, 0, first), size
}

// addTail adds the events of a part, and reports whether the page is full.
func (p *eventPage) addTail(part tail) (full bool) {
	for _, event := range slices.Backward(part.events) {
		if p.add(event) {
			return true
		}
	}
	return false
}

// add adds an event, and reports whether the page is full after it.
func (p *eventPage) add(event eventlog.Recorded) (full bool) {
	p.size += sizeOf(event)
	p.reply.Events = append(p.reply.Events, adminapi.EventOf(event))
	full = len(p.reply.Events) == p.wanted.Limit || p.size >= pageBytes
	if full && p.wanted.Revision < 0 {
		p.goOnBefore(event.Position)
	}
	return full
}

func (p *eventPage) goOnBefore(position eventlog.Position) {
	next := position.String()
	p.reply.Next = &next
}

// fillFromParts reads the log in the parts between signed heads, newest first: the log itself can only be read
// forwards, and there is a head at least every thousand events.
func (p *eventPage) fillFromParts(ctx context.Context) error {
	until := p.wanted.Before.Position // Start means the end of the log
	for head, err := range p.log.ReadStreamBackwards(ctx, audit.HeadStream) {
		if err != nil {
			return err
		}
		if until != eventlog.Start() && head.Position.Compare(until) >= 0 {
			continue
		}
		if full, err := p.addPart(ctx, head.Position, until); full || err != nil {
			return err
		}
		until = head.Position
	}
	_, err := p.addPart(ctx, eventlog.Start(), until)
	return err
}

// addPart adds the events in a range of positions, and reports whether the page ended within it.
func (p *eventPage) addPart(ctx context.Context, after, until eventlog.Position) (ended bool, err error) {
	part := tail{limit: p.wanted.Limit}
	var oldest eventlog.Position
	for event, err := range logcopy.Read(ctx, p.log, after, until) {
		if err != nil {
			return false, err
		}
		if event.Position == p.wanted.Before.Position {
			break
		}
		if oldest == eventlog.Start() {
			oldest = event.Position
		}
		p.reply.Read++
		if p.wanted.includes(event) {
			part.push(event)
		}
	}
	if p.addTail(part) {
		return true, nil
	}
	if p.reply.Read >= pageRead && oldest != eventlog.Start() && after != eventlog.Start() {
		p.goOnBefore(oldest)
		return true, nil
	}
	return false, nil
}
