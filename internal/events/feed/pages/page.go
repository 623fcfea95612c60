package pages

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Page is a run of consecutive events of the log, decoded once for all projections.
type Page struct {
	Events []eventlog.Decoded
	Ahead  any // the result of Config.Ahead for these events; nil for a page that was not full
}

// Last returns the position of the page's last decoded event.
func (p Page) Last() eventlog.Position { return p.Events[len(p.Events)-1].Position }

// After returns the page without the events up to a position.
func (p Page) After(position eventlog.Position) Page {
	first := slices.IndexFunc(p.Events, func(e eventlog.Decoded) bool { return e.Position.Compare(position) > 0 })
	switch first {
	case 0:
		return p
	case -1:
		first = len(p.Events)
	}
	return Page{Events: p.Events[first:]}
}

// Split cuts the page after a position.
func (p Page) Split(position eventlog.Position) (upTo, after Page) {
	after = p.After(position)
	if len(after.Events) == 0 {
		return p, after
	}
	return Page{Events: p.Events[:len(p.Events)-len(after.Events)]}, after
}

// Limits bound a page. Once the subscription has caught up, a page also ends as soon as the log is drained, so that a
// live page is often one event. Until then pages are as large as possible: the larger a page, the fewer rows are
// written more than once.
type Limits struct {
	Events int           // 0 means 5,000
	Bytes  int           // of data and metadata; 0 means 8 MiB. One event may be larger
	Age    time.Duration // since the page's first event; 0 means 50 ms. Ten times as long until the first catch-up
}

// agesBehind is the age of a page before the first catch-up, as a multiple of the usual one.
const agesBehind = 10

func (l Limits) withDefaults() Limits {
	return Limits{
		Events: cmp.Or(l.Events, 5000), Bytes: cmp.Or(l.Bytes, 8<<20), Age: cmp.Or(l.Age, 50*time.Millisecond),
	}
}

// pager cuts the deliveries of a subscription into pages.
type pager struct {
	limits     Limits
	decode     func(eventlog.Recorded) eventlog.Decoded
	take       func(eventlog.Recorded) bool // nil takes every event
	ahead      func([]eventlog.Decoded) any // see Config
	deliveries <-chan eventlog.Delivery
	pages      chan<- Page

	after  eventlog.Position // of the last event taken or skipped
	page   Page
	bytes  int
	opened time.Time
	live   bool             // the subscription has caught up at least once
	aged   <-chan time.Time // receives when a page from before the first catch-up is old enough
}

// run sends pages until ctx or the deliveries end. Until a page is taken, it continues to collect events up to the
// limits, so that the next page is read while one commits, and pages grow with the load. It holds at most one page.
func (p *pager) run(ctx context.Context) {
	for {
		deliveries, pages := p.deliveries, p.pages
		if !p.due() {
			pages = nil
		}
		if p.full() {
			deliveries = nil
		}
		select {
		case <-ctx.Done():
			return
		case pages <- p.page:
			p.page, p.bytes, p.aged = Page{}, 0, nil
		case <-p.aged:
		case delivery, open := <-deliveries:
			if !open {
				return
			}
			p.add(delivery)
		}
	}
}

// due reports whether the page may be sent: it is full or old enough, or the log is drained.
func (p *pager) due() bool {
	switch {
	case len(p.page.Events) == 0:
		return false
	case p.full():
		return true
	case p.live:
		return len(p.deliveries) == 0 || time.Since(p.opened) >= p.limits.Age
	}
	return time.Since(p.opened) >= agesBehind*p.limits.Age
}

func (p *pager) full() bool {
	return len(p.page.Events) >= p.limits.Events || p.bytes >= p.limits.Bytes
}

func (p *pager) add(delivery eventlog.Delivery) {
	p.live = p.live || delivery.Kind == eventlog.KindCaughtUp
	// A subscription that resumed may deliver an event again.
	if delivery.Kind != eventlog.KindEvent || delivery.Event.Position.Compare(p.after) <= 0 {
		return
	}
	event := delivery.Event
	p.after = event.Position
	if p.take != nil && !p.take(event) {
		return
	}
	if len(p.page.Events) == 0 {
		p.open()
	}
	p.page.Events = append(p.page.Events, p.decode(event))
	p.bytes += len(event.Data) + len(event.Metadata)
	if p.ahead != nil && p.full() {
		p.page.Ahead = p.ahead(p.page.Events)
	}
}

// open begins a page.
func (p *pager) open() {
	p.opened = time.Now()
	if !p.live {
		p.aged = time.After(agesBehind * p.limits.Age)
	}
}

// Metadata keys of a message. A message of several events has the keys of its last one.
const (
	MetadataType     = "recital-type"
	MetadataStream   = "recital-stream"
	MetadataRevision = "recital-revision"
	MetadataPosition = "recital-position"
)

type pageKey struct{}

// From returns the page in a message's context. message.Copy drops it; CopyWithContext keeps it.
func From(ctx context.Context) (Page, bool) {
	page, ok := ctx.Value(pageKey{}).(Page)
	return page, ok
}

// newMessage wraps a page. Its id is the id of the page's last event. The payload of a page with one event is the
// event's data. With plain, the message's metadata includes the text fields of the event's metadata.
func newMessage(ctx context.Context, page Page, plain bool) *message.Message {
	ctx = context.WithValue(ctx, pageKey{}, page)
	last := page.Events[len(page.Events)-1].Recorded
	msg := message.NewMessageWithContext(ctx, last.ID.String(), nil)
	if len(page.Events) == 1 {
		msg.Payload = last.Data
	}
	if plain {
		copyMetadata(msg.Metadata, last)
	}
	msg.Metadata.Set(MetadataType, last.Type)
	msg.Metadata.Set(MetadataStream, last.Stream)
	msg.Metadata.Set(MetadataRevision, strconv.FormatUint(last.Revision, 10))
	msg.Metadata.Set(MetadataPosition, last.Position.String())
	return msg
}

func copyMetadata(metadata message.Metadata, event eventlog.Recorded) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(event.Metadata, &fields) != nil {
		return // metadata need not be JSON
	}
	for name, raw := range fields {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			metadata.Set(name, text)
		}
	}
}
