package eventnode

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/protocol"
)

const (
	queueLength  = 1024
	groupAppends = 1024    // maximum number of appends in a batch
	groupBytes   = 4 << 20 // bytes after which a batch takes no further appends
)

// purpose is the operation that a request performs on its stream.
type purpose int

const (
	toAppend    purpose = iota
	toDelete            // soft: the stream may be recreated
	toTombstone         // permanently
)

// request is an append or a deletion for the committer.
type request struct {
	ctx      context.Context
	purpose  purpose
	stream   string
	expected expectation
	events   []proposed
	ids      []uuid.UUID
	bytes    int
	answer   chan outcome // buffered, so that the committer never waits for a caller
}

// outcome is the committer's result for a request.
type outcome struct {
	decision
	err error
}

// errDropped stops the store after dropped writes, because no later write may be acknowledged.
var errDropped = errors.New("the disk was full when the event node was closed")

// committer is the only writer. It decides all waiting appends in order, writes their events in one batch with one
// fsync (group commit), and answers the requests.
type committer struct {
	store *store
	view  *view
	head  *head
	queue chan *request
	last  uint64 // position of the last event
	next  uint64 // position of the next event

	synced func(took time.Duration) // see Config; may be nil
}

func newCommitter(s *store) (*committer, error) {
	last, next, err := s.end()
	if err != nil {
		return nil, err
	}
	return &committer{
		store: s,
		view:  newView(s),
		head:  newHead(last),
		queue: make(chan *request, queueLength),
		last:  last,
		next:  next,
	}, nil
}

// run commits requests until stop is closed. It still commits the requests that are waiting then.
func (c *committer) run(stop <-chan struct{}) error {
	for {
		var r *request
		select {
		case r = <-c.queue:
		case <-stop:
			select {
			case r = <-c.queue:
			default:
				return nil
			}
		}
		if err := c.commit(c.gather(r)); err != nil {
			return err
		}
	}
}

// gather takes waiting requests from the queue, up to the size of a group. While requests arrive, it yields to
// goroutines that are about to send one. They would otherwise wait for the next fsync, which takes much longer.
func (c *committer) gather(first *request) []*request {
	group := []*request{first}
	bytes := first.bytes
	for seen := 0; seen < len(group); {
		seen = len(group)
		runtime.Gosched()
		for len(group) < groupAppends && bytes < groupBytes && len(c.queue) > 0 {
			r := <-c.queue
			group = append(group, r)
			bytes += r.bytes
		}
	}
	return group
}

// commit decides and writes the requests of a group. An error means that the store can no longer be written.
func (c *committer) commit(group []*request) error {
	batch := c.store.db.NewBatch()
	defer func() { _ = batch.Close() }()
	created := protocol.Ticks(time.Now())
	hasRoom := c.store.disk.hasRoom()
	outcomes := make([]outcome, len(group))
	for i, r := range group {
		var err error
		if outcomes[i], err = c.apply(batch, r, created, hasRoom); err != nil {
			return err
		}
	}
	if !batch.Empty() {
		begun := time.Now()
		if err := batch.Commit(pebble.Sync); err != nil {
			return fmt.Errorf("writing events: %w", err)
		}
		if c.synced != nil {
			c.synced(time.Since(begun))
		}
		if c.store.disk.isCut() {
			return errDropped
		}
		c.view.settle()
		c.head.advance(c.last)
	}
	for i, r := range group {
		r.answer <- outcomes[i]
	}
	return nil
}

// apply decides a request and adds its events to the batch. An error means that the batch is unusable.
func (c *committer) apply(batch *pebble.Batch, r *request, created int64, hasRoom bool) (outcome, error) {
	if err := r.ctx.Err(); err != nil {
		return outcome{err: err}, nil
	}
	d, err := decide(c.view, r.stream, r.expected, r.ids)
	if err != nil || d.verdict != accepted {
		return outcome{decision: d, err: err}, nil
	}
	if !hasRoom {
		return outcome{err: diskFull()}, nil
	}
	switch r.purpose {
	case toDelete:
		d, err = c.delete(batch, r.stream, d, created)
	case toTombstone:
		err = c.write(batch, r.stream, tombstoneRevision, []proposed{tombstone(r.stream)}, created)
		d.position = c.last
	default:
		d, err = c.append(batch, r, d, created)
	}
	return outcome{decision: d}, err
}

// append adds the events of a request. A write to a soft-deleted stream, or to its metadata, recreates the stream.
func (c *committer) append(batch *pebble.Batch, r *request, d decision, created int64) (decision, error) {
	returning, describes := describedStream(r.stream)
	if describes {
		visible, err := c.view.retention(returning)
		if err != nil {
			return d, err
		}
		describes = visible.softDeleted()
	}
	if err := c.write(batch, r.stream, d.current+1, r.events, created); err != nil {
		return d, err
	}
	next := d.current + 1
	d.last = d.current + int64(len(r.events))
	d.position = c.last
	switch {
	case d.recreate:
		return d, c.recreate(batch, r.stream, next, created)
	case describes:
		last, err := c.view.lastRevision(returning)
		if err != nil {
			return d, err
		}
		return d, c.recreate(batch, returning, last+1, created)
	}
	return d, nil
}

// delete hides all events of a stream until it is written again.
func (c *committer) delete(batch *pebble.Batch, stream string, d decision, created int64) (decision, error) {
	name := metadataStream(stream)
	last, err := c.view.lastRevision(name)
	if err != nil {
		return d, err
	}
	switch {
	case last == tombstoneRevision: // a tombstoned stream has no next revision
		return decision{verdict: deleted, current: d.current}, nil
	case d.current == noStream && last == noStream:
		return decision{verdict: wrongVersion, current: noStream}, nil
	}
	err = c.write(batch, name, last+1, []proposed{describe(stream, softDeletion())}, created)
	d.position = c.last
	return d, err
}

// recreate makes the events of a soft-deleted stream visible from a revision on. Its other metadata does not change.
func (c *committer) recreate(batch *pebble.Batch, stream string, revision int64, created int64) error {
	data, err := c.view.metadata(stream)
	if err != nil {
		return err
	}
	changed, ok := withTruncateBefore(data, revision)
	if !ok {
		return nil
	}
	name := metadataStream(stream)
	last, err := c.view.lastRevision(name)
	if err != nil {
		return err
	}
	return c.write(batch, name, last+1, []proposed{describe(stream, changed)}, created)
}

// describe returns an event that sets the metadata of a stream.
func describe(stream string, data []byte) proposed {
	return propose(metadataStream(stream), uuid.New(), kindMetadata, protocol.ContentTypeJSON, nil, data)
}

// tombstone returns the event that permanently ends a stream.
func tombstone(stream string) proposed {
	return propose(stream, uuid.New(), kindTombstone, protocol.ContentTypeBinary, nil, nil)
}

// write adds events to the batch. The first gets the given revision.
func (c *committer) write(batch *pebble.Batch, stream string, revision int64, events []proposed, created int64) error {
	for i := range events {
		event := place(events[i], revision+int64(i), c.next, created)
		op := batch.SetDeferred(len(eventKey(0)), event.size())
		copy(op.Key, eventKey(event.position))
		event.encode(op.Value)
		if err := op.Finish(); err != nil {
			return fmt.Errorf("adding an event to the batch: %w", err)
		}
		index := batch.SetDeferred(streamKeyLength(stream), 8)
		appendStreamKey(index.Key[:0], stream, event.revision)
		binary.BigEndian.PutUint64(index.Value, event.position)
		if err := index.Finish(); err != nil {
			return fmt.Errorf("adding an event to the batch: %w", err)
		}
		c.view.add(stream, &event)
		c.last = event.position
		c.next += uint64(event.size())
	}
	return nil
}

// head is the position of the last event that is on disk. Reads stop there, because Pebble shows a batch to readers
// before its fsync, and an event that was read must never be lost.
type head struct {
	mu       sync.Mutex
	position uint64
	moved    chan struct{}
}

func newHead(position uint64) *head {
	return &head{position: position, moved: make(chan struct{})}
}

// get returns the position and a channel that is closed when the head advances.
func (h *head) get() (uint64, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.position, h.moved
}

func (h *head) advance(position uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.position = position
	close(h.moved)
	h.moved = make(chan struct{})
}
