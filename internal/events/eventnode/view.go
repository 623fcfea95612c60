package eventnode

import (
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	cachedRevisions = 32 << 10 // streams whose last revision is cached
	cachedIDs       = 64 << 10 // events whose ids are cached to recognise repeats without an exact revision
)

// knownEvent is an event in the log or in the batch.
type knownEvent struct {
	id       uuid.UUID
	stream   string
	revision int64
	position uint64
	created  time.Time
}

// view is the log as the committer sees it: the store, caches over it, and the current batch. It is used only by the
// committer's goroutine.
type view struct {
	store      *store
	revisions  *simplelru.LRU[string, int64]
	retentions *simplelru.LRU[string, retention]
	ids        *simplelru.LRU[uuid.UUID, knownEvent] // the first event with the id
	pending    map[string]*pendingStream
}

// pendingStream is what the batch adds to a stream.
type pendingStream struct {
	first  int64 // revision of the first of events
	last   int64
	events []knownEvent
	data   []byte // of the last event if it is JSON, kept for metadata streams
}

func newView(s *store) (*view, error) {
	revisions, err := simplelru.NewLRU[string, int64](cachedRevisions, nil)
	if err != nil {
		return nil, fmt.Errorf("making the cache of revisions: %w", err)
	}
	retentions, err := simplelru.NewLRU[string, retention](cachedRevisions, nil)
	if err != nil {
		return nil, fmt.Errorf("making the cache of stream metadata: %w", err)
	}
	ids, err := simplelru.NewLRU[uuid.UUID, knownEvent](cachedIDs, nil)
	if err != nil {
		return nil, fmt.Errorf("making the cache of event ids: %w", err)
	}
	return &view{
		store: s, revisions: revisions, retentions: retentions, ids: ids, pending: map[string]*pendingStream{},
	}, nil
}

func (v *view) lastRevision(stream string) (int64, error) {
	if described, describes := describedStream(stream); describes {
		last, err := v.lastWritten(described)
		if err != nil || last == tombstoneRevision {
			return last, err
		}
	}
	return v.lastWritten(stream)
}

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
		id: event.id, stream: stream, revision: event.revision, position: event.position, created: timeOf(event.created),
	}
	p.events = append(p.events, known)
	if !v.ids.Contains(event.id) {
		v.ids.Add(event.id, known)
	}
}

// settle moves the batch into the caches, after it was written.
func (v *view) settle() {
	for stream, p := range v.pending {
		v.revisions.Add(stream, p.last)
		if described, describes := describedStream(stream); describes {
			v.retentions.Add(described, parseRetention(p.data))
		}
	}
	clear(v.pending)
}
