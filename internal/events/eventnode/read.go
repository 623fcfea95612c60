package eventnode

import (
	"context"
	"math"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/recital-tts/recital/internal/events/protocol"
)

// streamsService serves event_store.client.streams.Streams. Undefined methods return Unimplemented.
type streamsService struct {
	streams.UnimplementedStreamsServer
	node *Node
}

// Read reads a stream or the whole log, or subscribes to it.
func (s *streamsService) Read(request *streams.ReadReq, call streams.Streams_ReadServer) error {
	return s.node.finish(call.Context(), "read", s.node.read(request.GetOptions(), call))
}

// reader is a call of Read.
type reader struct {
	node   *Node
	store  *store
	call   streams.Streams_ReadServer
	ctx    context.Context
	filter filter
	text   bool // ids are sent as text
}

func (n *Node) read(options *streams.ReadReq_Options, call streams.Streams_ReadServer) error {
	keep, err := parseFilter(options.GetFilter())
	if err != nil {
		return invalidArgument(err.Error())
	}
	r := &reader{
		node: n, store: n.store, call: call, ctx: call.Context(), filter: keep,
		text: options.GetUuidOption().GetString_() != nil,
	}
	backwards := options.GetReadDirection() == streams.ReadReq_Options_Backwards
	_, subscribe := options.GetCountOption().(*streams.ReadReq_Options_Subscription)
	switch {
	case subscribe && backwards, options.GetStream() != nil && keep != nil:
		return invalidArgument("the combination of stream, direction and filter is invalid")
	case !subscribe && options.GetCount() == 0:
		return invalidArgument("the number of events to read must be positive")
	case options.GetAll() != nil && subscribe:
		return r.subscribeAll(options.GetAll(), options.GetFilter())
	case options.GetAll() != nil && backwards:
		return r.readAllBackwards(options.GetAll(), options.GetCount())
	case options.GetAll() != nil:
		return r.readAllForwards(options.GetAll(), options.GetCount())
	case options.GetStream() != nil && subscribe:
		return r.subscribeStream(options.GetStream())
	case options.GetStream() != nil:
		return r.readStream(options.GetStream(), backwards, options.GetCount())
	default:
		return invalidArgument("the read names neither a stream nor $all")
	}
}

// readAllForwards sends events from a position (inclusive) on.
func (r *reader) readAllForwards(options *streams.ReadReq_Options_AllOptions, count uint64) error {
	head, _ := r.node.committer.head.get()
	after := uint64(0)
	switch {
	case options.GetEnd() != nil:
		after = head
	case options.GetPosition().GetCommitPosition() > 0:
		after = options.GetPosition().GetCommitPosition() - 1
	}
	return r.sendPages(count, func(limit int) (page, error) {
		p, err := r.store.allForwards(after, head, limit, r.filter)
		after = p.last
		return p, err
	})
}

// readAllBackwards sends events before a position, the latest first.
func (r *reader) readAllBackwards(options *streams.ReadReq_Options_AllOptions, count uint64) error {
	head, _ := r.node.committer.head.get()
	before := head + 1
	switch {
	case options.GetStart() != nil:
		before = 0
	case options.GetPosition() != nil:
		before = min(before, options.GetPosition().GetCommitPosition())
	}
	return r.sendPages(count, func(limit int) (page, error) {
		p, err := r.store.allBackwards(before, limit, r.filter)
		before = p.last
		return p, err
	})
}

// readStream sends events from a revision (inclusive) in either direction.
func (r *reader) readStream(options *streams.ReadReq_Options_StreamOptions, backwards bool, count uint64) error {
	stream := string(options.GetStreamIdentifier().GetStreamName())
	if stream == "" || len(stream) > maxStreamName {
		return invalidArgument("the stream's name is empty or too long")
	}
	head, _ := r.node.committer.head.get()
	part, err := r.store.visible(stream, head)
	switch {
	case err != nil:
		return err
	case part.last == tombstoneRevision:
		return streamDeleted(stream)
	case part.last == noStream, part.softDeleted:
		return r.sendStreamNotFound(stream)
	}
	if backwards {
		return r.readStreamBackwards(part, start(options), count)
	}
	return r.readStreamForwards(part, start(options), count)
}

func (r *reader) readStreamForwards(part streamPart, from int64, count uint64) error {
	return r.sendPages(count, func(limit int) (page, error) {
		p, err := r.store.streamForwards(part, from, limit)
		from = int64(p.last) + 1
		return p, err
	})
}

func (r *reader) readStreamBackwards(part streamPart, from int64, count uint64) error {
	return r.sendPages(count, func(limit int) (page, error) {
		if from < part.first {
			return page{done: true}, nil
		}
		p, err := r.store.streamBackwards(part, from, limit)
		from = int64(p.last) - 1
		return p, err
	})
}

// start returns the revision where a read starts. The end of the stream is beyond every revision.
func start(options *streams.ReadReq_Options_StreamOptions) int64 {
	if options.GetEnd() != nil {
		return math.MaxInt64
	}
	return int64(min(options.GetRevision(), math.MaxInt64))
}

// sendPages sends up to count events, page by page.
func (r *reader) sendPages(count uint64, next func(limit int) (page, error)) error {
	for count > 0 {
		if err := r.alive(); err != nil {
			return err
		}
		p, err := next(r.pageLimit(count))
		if err != nil {
			return err
		}
		if uint64(len(p.events)) > count {
			p.events = p.events[:count]
		}
		if err := r.sendEvents(p.events); err != nil {
			return err
		}
		count -= uint64(len(p.events))
		if p.done {
			return nil
		}
	}
	return nil
}

// pageLimit returns the number of events to examine for a page, given the number of events that are still requested.
func (r *reader) pageLimit(count uint64) int {
	if r.filter != nil {
		return pageEvents
	}
	return int(min(pageEvents, count))
}

func (r *reader) sendEvents(events []record) error {
	for _, event := range events {
		message := event.frame()
		if r.text {
			var err error
			if message, err = event.textFrame(); err != nil {
				return err
			}
		}
		if err := r.call.SendMsg(message); err != nil {
			return err
		}
	}
	return nil
}

// alive returns the reason why the call must end, or nil.
func (r *reader) alive() error {
	select {
	case <-r.ctx.Done():
		return r.ctx.Err()
	case <-r.node.closing:
		return nodeClosing()
	case <-r.node.done:
		return nodeFailed()
	default:
		return nil
	}
}

func (r *reader) sendStreamNotFound(stream string) error {
	return r.call.Send(&streams.ReadResp{Content: &streams.ReadResp_StreamNotFound_{
		StreamNotFound: &streams.ReadResp_StreamNotFound{
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)},
		},
	}})
}

const (
	cachedRevisions = 32 << 10 // streams with a cached last revision
	cachedIDs       = 64 << 10 // cached event ids, which identify repeats without an exact revision
)

// knownEvent is an event in the log or in the batch.
type knownEvent struct {
	id       uuid.UUID
	stream   string
	revision int64
	position uint64
	created  time.Time
}

// view is the committer's view of the log: the store, caches, and the current batch. Only the committer's goroutine
// uses it.
type view struct {
	store      *store
	revisions  *simplelru.LRU[string, int64]
	retentions *simplelru.LRU[string, retention]
	ids        *simplelru.LRU[uuid.UUID, knownEvent] // the first event with the id
	pending    map[string]*pendingStream
}

// pendingStream has the events of a stream in the batch.
type pendingStream struct {
	first  int64 // revision of events[0]
	last   int64
	events []knownEvent
	data   []byte // of the last event if it is JSON; only for metadata streams
}

func newView(s *store) *view {
	v := &view{store: s, pending: map[string]*pendingStream{}}
	// NewLRU fails for a size below 1.
	v.revisions, _ = simplelru.NewLRU[string, int64](cachedRevisions, nil)
	v.retentions, _ = simplelru.NewLRU[string, retention](cachedRevisions, nil)
	v.ids, _ = simplelru.NewLRU[uuid.UUID, knownEvent](cachedIDs, nil)
	return v
}

func (v *view) lastRevision(stream string) (int64, error) { return lastRevision(stream, v.lastWritten) }

func (v *view) lastWritten(stream string) (int64, error) {
	if p, found := v.pending[stream]; found {
		return p.last, nil
	}
	if last, found := v.revisions.Get(stream); found {
		return last, nil
	}
	last, err := v.store.lastWritten(stream, math.MaxUint64)
	if err != nil {
		return noStream, err
	}
	v.revisions.Add(stream, last)
	return last, nil
}

func (v *view) eventAt(stream string, revision int64) (knownEvent, bool, error) {
	if p, found := v.pending[stream]; found && revision >= p.first {
		if revision-p.first >= int64(len(p.events)) {
			return knownEvent{}, false, nil
		}
		return p.events[revision-p.first], true, nil
	}
	r, position, found, err := v.store.event(stream, revision)
	if err != nil || !found {
		return knownEvent{}, false, err
	}
	return knownEvent{id: r.id(), stream: stream, revision: revision, position: position, created: r.created()}, true, nil
}

func (v *view) retention(stream string) (retention, error) {
	if _, describes := describedStream(stream); describes {
		return v.store.retention(stream, math.MaxUint64)
	}
	if p, found := v.pending[metadataStream(stream)]; found {
		return parseRetention(p.data), nil
	}
	if r, found := v.retentions.Get(stream); found {
		return r, nil
	}
	r, err := v.store.retention(stream, math.MaxUint64)
	if err != nil {
		return retention{}, err
	}
	v.retentions.Add(stream, r)
	return r, nil
}

// metadata returns a stream's metadata, or nil.
func (v *view) metadata(stream string) ([]byte, error) {
	if p, found := v.pending[metadataStream(stream)]; found {
		return p.data, nil
	}
	return v.store.metadata(stream, math.MaxUint64)
}

func (v *view) recent(id uuid.UUID) (knownEvent, bool) { return v.ids.Get(id) }

// add records an event of the batch.
func (v *view) add(stream string, event *placed) {
	p, found := v.pending[stream]
	if !found {
		p = &pendingStream{first: event.revision}
		v.pending[stream] = p
	}
	p.last = event.revision
	if _, describes := describedStream(stream); describes {
		p.data = event.metadata()
	}
	known := knownEvent{
		id: event.id, stream: stream, revision: event.revision, position: event.position,
		created: protocol.TimeOf(event.created),
	}
	p.events = append(p.events, known)
	if !v.ids.Contains(event.id) {
		v.ids.Add(event.id, known)
	}
}

// settle moves the batch into the caches after it is written.
func (v *view) settle() {
	for stream, p := range v.pending {
		v.revisions.Add(stream, p.last)
		if described, describes := describedStream(stream); describes {
			v.retentions.Add(described, parseRetention(p.data))
		}
	}
	clear(v.pending)
}
