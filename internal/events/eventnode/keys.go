package eventnode

import (
	"encoding/binary"
	"math"
)

// The key space. Numbers are big endian, so that keys sort as the numbers do.
//
//	f                                          → version of the stored format
//	e + position                               → record (see record.go)
//	s + length of name + name + revision       → position
//
// A tombstone is the entry of revision tombstoneRevision, so the last entry of a stream determines its end.
const (
	formatPrefix = 'f'
	eventPrefix  = 'e'
	streamPrefix = 's'
)

const (
	// maxStreamName is the longest stream name in bytes; its length is stored in two bytes.
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

// streamEnd returns the first key after all entries of the stream: revisions never have the highest bit.
func streamEnd(stream string) []byte {
	key := streamKey(stream, 0)
	binary.BigEndian.PutUint64(key[len(key)-8:], math.MaxUint64)
	return key
}

func streamKeyRevision(key []byte) int64 { return int64(binary.BigEndian.Uint64(key[len(key)-8:])) }
