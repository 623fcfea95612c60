package eventnode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	storeFormat  = 1
	cacheBytes   = 64 << 20
	memTableSize = 32 << 20
	bloomBits    = 10
)

// store is the log in Pebble. Only the committer writes to it, but any goroutine may read.
type store struct {
	db   *pebble.DB
	lock *pebble.Lock
	disk *disk
}

// openStore opens the log in dir. fatal is called when Pebble cannot continue or finds damage. The store must then be
// closed. A log with damage before its end is not opened.
func openStore(fs vfs.FS, dir string, logger *slog.Logger, fatal func(error)) (*store, error) {
	// pebble.Open would leak a goroutine if the folder is in use
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, fmt.Errorf("locking the event store %s, is another process using it?: %w", dir, err)
	}
	s := &store{lock: lock, disk: newDisk(fs, dir, logger, fatal)}
	if err := s.open(dir, logger, fatal); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := s.checkFormat(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *store) open(dir string, logger *slog.Logger, fatal func(error)) error {
	if free, ok := s.disk.available(); ok && free < spaceForOpening {
		return fmt.Errorf("opening the event store: the disk has %d MiB left; %d MiB are needed",
			free>>20, spaceForOpening>>20)
	}
	torn, err := checkLogFiles(s.disk, dir)
	if err != nil {
		return fmt.Errorf("opening the event store: %w", err)
	}
	messages := pebbleLogger{logger: logger, fatal: fatal}
	cache := pebble.NewCache(cacheBytes)
	defer cache.Unref()
	options := &pebble.Options{
		Cache:              cache,
		FS:                 s.disk,
		Lock:               s.lock,
		MemTableSize:       memTableSize,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             messages,
		EventListener:      &pebble.EventListener{DataCorruption: messages.damaged},
	}
	for i := range options.Levels {
		options.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
	}
	if s.db, err = pebble.Open(dir, options); err != nil {
		return fmt.Errorf("opening the event store: %w", errors.Join(s.disk.err(), err))
	}
	if err := s.disk.err(); err != nil {
		return fmt.Errorf("opening the event store: %w", errors.Join(err, s.db.Close()))
	}
	for _, file := range torn {
		logger.Warn("event node: the log ended in an incomplete write, as after a crash; it was dropped", "file", file)
	}
	return nil
}

func (s *store) checkFormat() error {
	value, found, err := s.get(formatKey())
	if err != nil {
		return fmt.Errorf("reading the format of the event store: %w", err)
	}
	if !found {
		return s.db.Set(formatKey(), []byte{storeFormat}, pebble.Sync)
	}
	if len(value) != 1 || value[0] != storeFormat {
		return fmt.Errorf("the event store has format %v; this version reads format %d", value, storeFormat)
	}
	return nil
}

func (s *store) close() error { return errors.Join(s.db.Close(), s.lock.Close()) }

// get returns a copy of a value.
func (s *store) get(key []byte) ([]byte, bool, error) {
	value, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	value = append([]byte(nil), value...)
	return value, true, closer.Close()
}

// end returns the positions of the last event (0 if there is none) and of the next event. As in EventStoreDB, a
// position is an offset in bytes, so positions have gaps.
func (s *store) end() (last, next uint64, err error) {
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: eventKey(0), UpperBound: eventsEnd()})
	if err != nil {
		return 0, 0, fmt.Errorf("reading the end of the log: %w", err)
	}
	if !iter.Last() {
		return 0, firstPosition, iter.Close()
	}
	last = eventKeyPosition(iter.Key())
	next = last + uint64(len(iter.Value()))
	return last, next, iter.Close()
}

// firstPosition is the position of the first event. 0 is before all events.
const firstPosition = 1

// lastRevision returns the revision of a stream's last event at or before the position head. It returns noStream if
// there are no events, and tombstoneRevision for a tombstoned stream and its metadata stream.
func (s *store) lastRevision(stream string, head uint64) (int64, error) {
	return lastRevision(stream, func(name string) (int64, error) { return s.lastWritten(name, head) })
}

func lastRevision(stream string, lastWritten func(name string) (int64, error)) (int64, error) {
	if described, describes := describedStream(stream); describes {
		last, err := lastWritten(described)
		if err != nil || last == tombstoneRevision {
			return last, err
		}
	}
	return lastWritten(stream)
}

// lastWritten is like lastRevision, but ignores the tombstone of the stream that a metadata stream describes.
func (s *store) lastWritten(stream string, head uint64) (int64, error) {
	exists, err := s.everWritten(stream)
	if err != nil || !exists {
		return noStream, err
	}
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: streamKey(stream, 0), UpperBound: streamEnd(stream)})
	if err != nil {
		return noStream, fmt.Errorf("reading the end of a stream: %w", err)
	}
	last := noStream
	for valid := iter.Last(); valid; valid = iter.Prev() {
		if binary.BigEndian.Uint64(iter.Value()) <= head {
			last = streamKeyRevision(iter.Key())
			break
		}
	}
	return last, iter.Close()
}

// everWritten reports whether the stream has a first event or a tombstone. For new streams, the bloom filters answer
// without a read.
func (s *store) everWritten(stream string) (bool, error) {
	for _, revision := range []int64{0, tombstoneRevision} {
		if _, found, err := s.position(stream, revision); err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// position returns the position in the log of a stream's event.
func (s *store) position(stream string, revision int64) (uint64, bool, error) {
	value, found, err := s.get(streamKey(stream, revision))
	if err != nil {
		return 0, false, fmt.Errorf("looking up an event of a stream: %w", err)
	}
	if !found {
		return 0, false, nil
	}
	return binary.BigEndian.Uint64(value), true, nil
}

// event returns the event at a revision of a stream, and its position in the log.
func (s *store) event(stream string, revision int64) (record, uint64, bool, error) {
	position, found, err := s.position(stream, revision)
	if err != nil || !found {
		return nil, 0, false, err
	}
	value, found, err := s.get(eventKey(position))
	if err != nil {
		return nil, 0, false, fmt.Errorf("reading an event: %w", err)
	}
	if !found {
		return nil, 0, false, fmt.Errorf("%w: none at position %d", errRecord, position)
	}
	r := record(value)
	return r, position, true, r.check()
}

// pebbleLogger sends Pebble's messages to slog.
type pebbleLogger struct {
	logger *slog.Logger
	fatal  func(error)
}

func (l pebbleLogger) Infof(format string, args ...any) {
	l.logger.Debug("pebble: " + fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.logger.Error("pebble: " + fmt.Sprintf(format, args...))
}

// damaged reports a table with a wrong checksum. Its readers get an error, so damaged may return.
func (l pebbleLogger) damaged(info pebble.DataCorruptionInfo) {
	err := fmt.Errorf("the event store is damaged: %s: %w", info.Path, info.Details)
	l.logger.Error("pebble: damage", "error", err)
	l.fatal(err)
}

// Fatalf must not return, because Pebble is in an undefined state. It must not end the goroutine either, because Pebble
// would unlock mutexes that are not locked, which ends the process, and the process has to finish its other work. The
// node is done.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	err := fmt.Errorf("the event store failed: "+format, args...)
	l.logger.Error("pebble: fatal", "error", err)
	l.fatal(err)
	select {}
}

// The keys of the store. Numbers are big endian, so that keys sort like numbers.
//
//	f                                          → version of the stored format
//	e + position                               → record (see record.go)
//	s + length of name + name + revision       → position
//
// A tombstone is the entry with revision tombstoneRevision, so the last entry of a stream determines whether it has
// ended.
const (
	formatPrefix = 'f'
	eventPrefix  = 'e'
	streamPrefix = 's'
)

const (
	// maxStreamName is the maximum length of a stream name in bytes. The length is stored in two bytes.
	maxStreamName = math.MaxUint16
	// noStream is the revision of a stream without events.
	noStream int64 = -1
	// tombstoneRevision is the revision of the event that permanently ends a stream (EventNumber.DeletedStream).
	tombstoneRevision int64 = math.MaxInt64
)

func formatKey() []byte { return []byte{formatPrefix} }

func eventKey(position uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{eventPrefix}, position)
}

func eventKeyPosition(key []byte) uint64 { return binary.BigEndian.Uint64(key[1:]) }

// eventsEnd returns the first key after all events.
func eventsEnd() []byte { return []byte{eventPrefix + 1} }

func streamKeyLength(stream string) int { return 1 + 2 + len(stream) + 8 }

func appendStreamKey(key []byte, stream string, revision int64) []byte {
	key = append(key, streamPrefix)
	key = binary.BigEndian.AppendUint16(key, uint16(len(stream)))
	key = append(key, stream...)
	return binary.BigEndian.AppendUint64(key, uint64(revision))
}

func streamKey(stream string, revision int64) []byte {
	return appendStreamKey(make([]byte, 0, streamKeyLength(stream)), stream, revision)
}

// streamEnd returns the first key after all entries of the stream. The highest bit of revisions is never set.
func streamEnd(stream string) []byte {
	key := streamKey(stream, 0)
	binary.BigEndian.PutUint64(key[len(key)-8:], math.MaxUint64)
	return key
}

func streamKeyRevision(key []byte) int64 { return int64(binary.BigEndian.Uint64(key[len(key)-8:])) }
