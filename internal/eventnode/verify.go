package eventnode

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// verifyChunk is the number of entries that are read with one iterator, which holds on to old files while it is open.
	verifyChunk = 1 << 13
	// verifyRest is for how many times as long as it has worked a verification rests while the log is served.
	verifyRest = 4
)

// verification looks for damage in a log. Pebble checks the blocks of its tables when they are read; it cannot detect
// that entries are missing altogether.
type verification struct {
	store   *store
	last    uint64 // position up to which events are checked
	stop    <-chan struct{}
	served  <-chan struct{} // is closed when the log is served: others need the processors, too
	seed    maphash.Seed
	key     []byte
	stream  []byte // key of the current stream, without the revision
	next    int64  // its next revision
	balance uint64 // sum over the events minus sum over the index: 0 if each event has its entry
}

// verify reads the whole log up to the event at the position last: no position may be missing, no revision of a
// stream, and each event must have its index entry. It ends early, without an error, when stop is closed, and works at
// leisure when served is.
func (s *store) verify(last uint64, stop, served <-chan struct{}) error {
	v := &verification{store: s, last: last, stop: stop, served: served, seed: maphash.MakeSeed()}
	end := uint64(firstPosition)
	whole, err := v.each(eventKey(0), eventKey(last+1), func(key, value []byte) error {
		position := eventKeyPosition(key)
		if position != end {
			return fmt.Errorf("events are missing between the positions %d and %d", end, position)
		}
		end += uint64(len(value))
		return v.event(record(value), position)
	})
	if err != nil || !whole {
		return err
	}
	whole, err = v.each([]byte{streamPrefix}, []byte{streamPrefix + 1}, v.entry)
	if err != nil || !whole {
		return err
	}
	if v.balance != 0 {
		return fmt.Errorf("%w: the index does not fit the events", errRecord)
	}
	return nil
}

// each calls look for all entries between two keys; whole is false if it was stopped early.
func (v *verification) each(from, until []byte, look func(key, value []byte) error) (whole bool, err error) {
	for from != nil {
		select {
		case <-v.stop:
			return false, nil
		default:
		}
		began := time.Now()
		if from, err = v.chunk(from, until, look); err != nil {
			return false, fmt.Errorf("verifying the event store: %w", err)
		}
		v.rest(time.Since(began))
	}
	return true, nil
}

// rest leaves the processors to others after it has worked, if there are others.
func (v *verification) rest(worked time.Duration) {
	select {
	case <-v.served:
	default:
		return
	}
	select {
	case <-time.After(verifyRest * worked):
	case <-v.stop:
	}
}

// chunk checks some entries and returns the key to continue with, nil at the end.
func (v *verification) chunk(from, until []byte, look func(key, value []byte) error) (next []byte, err error) {
	iter, err := v.store.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: until})
	if err != nil {
		return nil, err
	}
	seen := 0
	for valid := iter.First(); valid; valid = iter.Next() {
		if seen == verifyChunk {
			return append([]byte(nil), iter.Key()...), iter.Close()
		}
		seen++
		if err := look(iter.Key(), iter.Value()); err != nil {
			return nil, closing(iter, err)
		}
	}
	return nil, iter.Close()
}

func (v *verification) event(r record, position uint64) error {
	if err := r.check(); err != nil {
		return fmt.Errorf("%w, at position %d", err, position)
	}
	v.key = appendStreamKey(v.key[:0], string(r.stream()), r.revision())
	v.balance += v.digest(v.key, position)
	return nil
}

// entry checks an index entry. Entries of events that were appended since are skipped.
func (v *verification) entry(key, value []byte) error {
	if len(key) < streamKeyLength("") || len(value) != 8 {
		return fmt.Errorf("%w: an index entry of %d and %d bytes", errRecord, len(key), len(value))
	}
	position := binary.BigEndian.Uint64(value)
	if position > v.last {
		return nil
	}
	v.balance -= v.digest(key, position)
	stream, revision := key[:len(key)-8], streamKeyRevision(key)
	if string(stream) != string(v.stream) {
		v.stream, v.next = append(v.stream[:0], stream...), 0
	}
	if revision != v.next && revision != tombstoneRevision {
		return fmt.Errorf("%w: a stream lacks its revision %d", errRecord, v.next)
	}
	v.next = revision + 1
	return nil
}

func (v *verification) digest(key []byte, position uint64) uint64 {
	return maphash.Bytes(v.seed, key) ^ position*0x9e3779b97f4a7c15
}
