package eventnode

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Reads work in pages, so that no iterator is open while a slow client reads, and memory is limited.
const (
	pageEvents = 512
	pageBytes  = 256 << 10
)

// page is a part of the log or of a stream.
type page struct {
	events     []record
	considered int    // number of examined events; with a filter, more than len(events)
	last       uint64 // position (in a stream: revision) of the last examined event, if any
	done       bool   // there are no more events

	bytes int
	chunk []byte
}

func (p *page) full(limit int) bool { return p.considered >= limit || p.bytes >= pageBytes }

// add copies a record into the page. Chunks are never reused, because the transport may keep frames after sending.
// Chunks grow from a small size, because a live page often has one event.
func (p *page) add(value []byte) {
	if cap(p.chunk)-len(p.chunk) < len(value) {
		p.chunk = make([]byte, 0, max(len(value), min(2*cap(p.chunk), 32<<10)))
	}
	start := len(p.chunk)
	p.chunk = append(p.chunk, value...)
	p.events = append(p.events, record(p.chunk[start:len(p.chunk):len(p.chunk)]))
	p.bytes += len(value)
}

// allForwards reads the events in (after, head] that pass the filter. It examines at most limit events.
func (s *store) allForwards(after, head uint64, limit int, keep filter) (page, error) {
	if after >= head {
		return page{done: true}, nil
	}
	return s.allPage(after+1, head+1, limit, keep, (*pebble.Iterator).First, (*pebble.Iterator).Next)
}

// allBackwards reads events before a position, the latest first.
func (s *store) allBackwards(before uint64, limit int, keep filter) (page, error) {
	return s.allPage(0, before, limit, keep, (*pebble.Iterator).Last, (*pebble.Iterator).Prev)
}

func (s *store) allPage(
	from, until uint64, limit int, keep filter, first, next func(*pebble.Iterator) bool,
) (page, error) {
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: eventKey(from), UpperBound: eventKey(until)})
	if err != nil {
		return page{}, fmt.Errorf("reading the log: %w", err)
	}
	var p page
	valid := first(iter)
	for ; valid && !p.full(limit); valid = next(iter) {
		r := record(iter.Value())
		if err := r.check(); err != nil {
			return page{}, fmt.Errorf("reading the log at %d: %w", eventKeyPosition(iter.Key()), closing(iter, err))
		}
		p.considered++
		p.last = eventKeyPosition(iter.Key())
		if keep == nil || keep(r) {
			p.add(r)
		}
	}
	p.done = !valid
	if err := iter.Close(); err != nil {
		return page{}, fmt.Errorf("reading the log: %w", err)
	}
	return p, nil
}

// streamPart is the visible part of a stream.
type streamPart struct {
	stream      string
	head        uint64 // position up to which events are visible
	last        int64  // revision of the last event up to head, noStream or tombstoneRevision
	first       int64  // revision of the first visible event
	softDeleted bool
	keep        filter // omits events that are too old
}

// visible returns the visible part of a stream at the position head.
func (s *store) visible(stream string, head uint64) (streamPart, error) {
	last, err := s.lastRevision(stream, head)
	if err != nil {
		return streamPart{}, err
	}
	r, err := s.retention(stream, head)
	if err != nil {
		return streamPart{}, err
	}
	return streamPart{
		stream: stream, head: head, last: last, first: max(0, r.first(last)),
		softDeleted: r.softDeleted(), keep: r.keep(time.Now()),
	}, nil
}

// streamForwards reads events from a revision on.
func (s *store) streamForwards(part streamPart, from int64, limit int) (page, error) {
	from = max(from, part.first)
	return s.streamPage(part, streamKey(part.stream, from), streamEnd(part.stream), limit,
		(*pebble.Iterator).First, (*pebble.Iterator).Next)
}

// streamBackwards reads events from a revision down, the latest first.
func (s *store) streamBackwards(part streamPart, from int64, limit int) (page, error) {
	until := streamEnd(part.stream)
	if from < math.MaxInt64 {
		until = streamKey(part.stream, from+1)
	}
	return s.streamPage(part, streamKey(part.stream, part.first), until, limit,
		(*pebble.Iterator).Last, (*pebble.Iterator).Prev)
}

func (s *store) streamPage(
	part streamPart, from, until []byte, limit int, first, next func(*pebble.Iterator) bool,
) (page, error) {
	index, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: until})
	if err != nil {
		return page{}, fmt.Errorf("reading a stream: %w", err)
	}
	events, err := s.db.NewIter(&pebble.IterOptions{LowerBound: eventKey(0), UpperBound: eventsEnd()})
	if err != nil {
		return page{}, fmt.Errorf("reading a stream: %w", closing(index, err))
	}
	p, err := fillStreamPage(part, index, events, limit, first, next)
	if err = closing(index, closing(events, err)); err != nil {
		return page{}, fmt.Errorf("reading a stream: %w", err)
	}
	return p, nil
}

func fillStreamPage(
	part streamPart, index, events *pebble.Iterator, limit int, first, next func(*pebble.Iterator) bool,
) (page, error) {
	var p page
	valid := first(index)
	for ; valid && !p.full(limit); valid = next(index) {
		position := binary.BigEndian.Uint64(index.Value())
		if position > part.head {
			continue
		}
		if !events.SeekGE(eventKey(position)) || eventKeyPosition(events.Key()) != position {
			return page{}, fmt.Errorf("%w: none at position %d", errRecord, position)
		}
		r := record(events.Value())
		if err := r.check(); err != nil {
			return page{}, err
		}
		p.considered++
		p.last = uint64(streamKeyRevision(index.Key()))
		if part.keep == nil || part.keep(r) {
			p.add(r)
		}
	}
	p.done = !valid
	return p, nil
}

// closing closes the iterator and returns the first error.
func closing(iter *pebble.Iterator, err error) error {
	if closeErr := iter.Close(); err == nil {
		return closeErr
	}
	return err
}
