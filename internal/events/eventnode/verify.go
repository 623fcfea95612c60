package eventnode

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
)

const (
	// verifyChunk is the number of events that are read with one iterator, which keeps old files while it is open.
	verifyChunk = 1 << 13
	// verifyRest is the ratio of rest to work of a verification while the log is served.
	verifyRest = 4
	// verifyNotes is the interval of saving a verification's progress, and verifyLines of logging it.
	verifyNotes, verifyLines = 5 * time.Second, time.Minute
)

// verification looks for damage in a log. Pebble checks the blocks of its tables when they are read, but cannot detect
// missing entries. So the verification checks that no position is missing, and that each event has its index entry.
//
// The verified part is a range of positions. It first grows to the log's end, and then down to its start. The range is
// saved, and the next start continues from there.
type verification struct {
	store *store
	end   uint64 // position after the last event to verify
	sound verified
	size  atomic.Uint64 // of the range in bytes

	savedAt, loggedAt time.Time
	entries           []entry // of the current chunk
}

// entry is the index entry of an event.
type entry struct {
	key      []byte
	position uint64
}

// newVerification returns a verification of all events that are in the log now. It continues an earlier one, unless
// anew is set.
func newVerification(s *store, anew bool) (*verification, error) {
	last, end, err := s.end()
	if err != nil {
		return nil, err
	}
	v := &verification{store: s, end: end, savedAt: time.Now(), loggedAt: time.Now()}
	if !anew {
		v.sound = s.readVerified(time.Now())
	}
	if v.sound.To == 0 {
		v.sound = verified{From: end, To: end, Last: last}
	}
	v.size.Store(v.sound.size())
	return v, nil
}

// run verifies the log until everything is verified or stop is closed. It closes begun after the first chunk. After
// served is closed, it leaves processor time to others.
func (v *verification) run(logger *slog.Logger, begun chan<- struct{}, stop, served <-chan struct{}) error {
	for first := true; !v.done(); first = false {
		select {
		case <-stop:
			v.keep(logger)
			return nil
		default:
		}
		began := time.Now()
		if err := v.step(); err != nil {
			return fmt.Errorf("verifying the event store: %w", err)
		}
		if first {
			close(begun)
		}
		v.report(logger)
		rest(time.Since(began), stop, served)
	}
	if v.sound.Complete.IsZero() { // later events do not make the rest more recently verified
		v.sound.Complete = time.Now()
	}
	v.keep(logger)
	return nil
}

func (v *verification) done() bool { return v.sound.To == v.end && v.sound.From == firstPosition }

// step verifies a chunk of events after the range or, at the log's end, before it.
func (v *verification) step() error {
	next := v.sound
	v.entries = v.entries[:0]
	var err error
	if next.To < v.end {
		err = v.each(eventKey(next.To), eventKey(v.end), (*pebble.Iterator).First, (*pebble.Iterator).Next,
			func(position, after uint64) error {
				if position != next.To {
					return missing(next.To, position)
				}
				next.To, next.Last = after, position
				return nil
			})
		if err == nil && next.To == v.sound.To {
			err = missing(next.To, v.end)
		}
	} else {
		err = v.each(eventKey(0), eventKey(next.From), (*pebble.Iterator).Last, (*pebble.Iterator).Prev,
			func(position, after uint64) error {
				if after != next.From {
					return missing(after, next.From)
				}
				next.From = position
				return nil
			})
		if err == nil && next.From == v.sound.From {
			err = missing(firstPosition, next.From)
		}
	}
	if err == nil {
		err = v.checkIndex()
	}
	if err != nil {
		return err
	}
	v.sound = next
	v.size.Store(next.size())
	return nil
}

func missing(from, to uint64) error {
	return fmt.Errorf("events are missing between the positions %d and %d", from, to)
}

// each checks at most verifyChunk events between two keys in one direction. It calls look with the position of each
// event and of the next one.
func (v *verification) each(
	from, until []byte, first, next func(*pebble.Iterator) bool, look func(position, after uint64) error,
) error {
	iter, err := v.store.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: until})
	if err != nil {
		return err
	}
	for valid := first(iter); valid && len(v.entries) < verifyChunk; valid = next(iter) {
		position, r := eventKeyPosition(iter.Key()), record(iter.Value())
		if err := look(position, position+uint64(len(r))); err != nil {
			return closing(iter, err)
		}
		if err := r.check(); err != nil {
			return closing(iter, fmt.Errorf("%w, at position %d", err, position))
		}
		v.entries = append(v.entries, entry{appendStreamKey(nil, string(r.stream()), r.revision()), position})
	}
	return iter.Close()
}

// checkIndex looks up the entries of the chunk in the order of the index.
func (v *verification) checkIndex() error {
	slices.SortFunc(v.entries, func(a, b entry) int { return slices.Compare(a.key, b.key) })
	iter, err := v.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte{streamPrefix},
		UpperBound: []byte{streamPrefix + 1}})
	if err != nil {
		return err
	}
	for _, e := range v.entries {
		found := iter.SeekGE(e.key) && slices.Equal(iter.Key(), e.key) && len(iter.Value()) == 8
		if iter.Error() == nil && (!found || binary.BigEndian.Uint64(iter.Value()) != e.position) {
			return closing(iter, fmt.Errorf("%w: the index does not fit the event at position %d", errRecord, e.position))
		}
	}
	return iter.Close()
}

// report saves and logs the progress from time to time.
func (v *verification) report(logger *slog.Logger) {
	if time.Since(v.savedAt) >= verifyNotes {
		v.keep(logger)
	}
	if time.Since(v.loggedAt) >= verifyLines {
		v.loggedAt = time.Now()
		logger.Info("event node: the log is being verified", "verified_bytes", v.sound.size(), "of_bytes",
			v.end-firstPosition)
	}
}

// keep saves the progress. A failure is only logged, because the next start then just reads more events.
func (v *verification) keep(logger *slog.Logger) {
	v.savedAt = time.Now()
	if err := v.store.writeVerified(v.sound); err != nil {
		logger.Warn("event node: the progress of the log's verification cannot be saved", "error", err)
	}
}

// rest waits for a multiple of the time worked, if the log is served.
func rest(worked time.Duration, stop, served <-chan struct{}) {
	select {
	case <-served:
	default:
		return
	}
	select {
	case <-time.After(verifyRest * worked):
	case <-stop:
	}
}

// verified is a range of the log without damage.
type verified struct {
	From     uint64    `json:"from"` // position of its first event
	To       uint64    `json:"to"`   // position after its last event
	Last     uint64    `json:"last"` // position of its last event
	LastID   uuid.UUID `json:"lastId"`
	Complete time.Time `json:"complete,omitzero"` // time when the whole log was verified
}

func (v verified) size() uint64 { return v.To - v.From }

const (
	verifiedFile = "verified.json"
	// verifiedFor is the time after a complete verification during which the log is not read from its start again.
	verifiedFor = 24 * time.Hour
)

// readVerified returns the range of the last verification. It is empty if it is too old, belongs to another log, or
// cannot be read.
func (s *store) readVerified(now time.Time) verified {
	content, err := s.readSmallFile(verifiedFile)
	var v verified
	if err != nil || json.Unmarshal(content, &v) != nil || v.From < firstPosition || v.Last < v.From || v.To <= v.Last {
		return verified{}
	}
	// A log that has lost its end may have got other events at the same positions.
	value, found, err := s.get(eventKey(v.Last))
	if err != nil || !found || v.Last+uint64(len(value)) != v.To || record(value).check() != nil ||
		record(value).id() != v.LastID {
		return verified{}
	}
	if !v.Complete.IsZero() && now.Sub(v.Complete).Abs() > verifiedFor {
		return verified{}
	}
	return v
}

// writeVerified saves the range. It bypasses the disk's waiting for space, because the log does not depend on the file.
func (s *store) writeVerified(v verified) error {
	if s.disk.isCut() || v.To == v.From {
		return nil
	}
	value, found, err := s.get(eventKey(v.Last))
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%w: none at position %d", errRecord, v.Last)
	}
	v.LastID = record(value).id()
	content, err := json.Marshal(v)
	if err != nil {
		return err
	}
	fs, path := s.disk.FS, s.disk.PathJoin(s.disk.dir, verifiedFile)
	file, err := fs.Create(path+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return fs.Rename(path+".new", path)
}

func (s *store) readSmallFile(name string) ([]byte, error) {
	file, err := s.disk.FS.Open(s.disk.PathJoin(s.disk.dir, name))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, 1<<10))
	return content, errors.Join(err, file.Close())
}
