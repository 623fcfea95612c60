package eventnode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// A record is a stored event. A fixed header has the fields that the node needs. It is followed by the ReadResp message
// exactly as it is sent to clients, so that reads send stored bytes without building messages.
//
//	0   event id, 16 bytes
//	16  revision, 8 bytes
//	24  created, 8 bytes: 100 ns ticks since the Unix epoch
//	32  where the frame holds the stream name: offset, length, 4 bytes each
//	40  where the frame holds the event type: offset, length
//	48  where the frame holds the data: offset, length
//	56  frame
type record []byte

const recordHeader = 56

// Field numbers of ReadResp and its parts (streams.proto, shared.proto).
const (
	fieldRespEvent      = 1
	fieldReadEvent      = 1
	fieldReadCommit     = 3
	fieldEventID        = 1
	fieldEventStream    = 2
	fieldEventRevision  = 3
	fieldEventPrepare   = 4
	fieldEventCommit    = 5
	fieldEventMetadata  = 6
	fieldEventCustom    = 7
	fieldEventData      = 8
	fieldUUIDStructured = 1
	fieldUUIDMost       = 1
	fieldUUIDLeast      = 2
	fieldStreamName     = 3
	fieldMapKey         = 1
	fieldMapValue       = 2
)

// System metadata of every event. The official client exits the process if created is missing.
const (
	metadataType        = "type"
	metadataContentType = "content-type"
	metadataCreated     = "created"

	contentTypeJSON   = "application/json"
	contentTypeBinary = "application/octet-stream"
)

var errRecord = errors.New("stored event is damaged")

// span is a range of a byte slice.
type span struct{ at, length int }

// proposed is an event to append. The parts that do not depend on its position in the log are already encoded, outside
// of the committer.
type proposed struct {
	id     uuid.UUID
	before []byte // fields up to the stream name
	after  []byte // fields from the metadata on
	stream span   // in before
	kind   span   // event type, in after
	data   span   // in after
	json   bool
}

// propose encodes the parts of an event that do not depend on its position in the log.
func propose(stream string, id uuid.UUID, kind, contentType string, custom, data []byte) proposed {
	event := proposed{id: id, json: contentType == contentTypeJSON}

	structured := make([]byte, 0, 2*(1+binary.MaxVarintLen64))
	structured = protowire.AppendTag(structured, fieldUUIDMost, protowire.VarintType)
	structured = protowire.AppendVarint(structured, binary.BigEndian.Uint64(id[:8]))
	structured = protowire.AppendTag(structured, fieldUUIDLeast, protowire.VarintType)
	structured = protowire.AppendVarint(structured, binary.BigEndian.Uint64(id[8:]))

	const framing = 48 // maximum overhead of before; after has at most twice as much
	all := make([]byte, len(stream)+len(kind)+len(custom)+len(data)+3*framing)
	before := all[: 0 : len(stream)+framing]
	before = protowire.AppendTag(before, fieldEventID, protowire.BytesType)
	before = protowire.AppendVarint(before, uint64(sizeBytesField(fieldUUIDStructured, len(structured))))
	before = protowire.AppendTag(before, fieldUUIDStructured, protowire.BytesType)
	before = protowire.AppendBytes(before, structured)
	before = protowire.AppendTag(before, fieldEventStream, protowire.BytesType)
	before = protowire.AppendVarint(before, uint64(sizeBytesField(fieldStreamName, len(stream))))
	before = protowire.AppendTag(before, fieldStreamName, protowire.BytesType)
	before = protowire.AppendString(before, stream)
	event.stream = span{at: len(before) - len(stream), length: len(stream)}
	event.before = before

	after := all[len(before):len(before)]
	after = appendMapEntry(after, metadataType, kind)
	event.kind = span{at: len(after) - len(kind), length: len(kind)}
	after = appendMapEntry(after, metadataContentType, contentType)
	after = appendBytesField(after, fieldEventCustom, custom)
	after = appendBytesField(after, fieldEventData, data)
	event.data = span{at: len(after) - len(data), length: len(data)}
	event.after = after
	return event
}

// metadata returns the data if it is valid stream metadata.
func (p *proposed) metadata() []byte {
	if !p.json {
		return nil
	}
	return p.after[p.data.at:][:p.data.length]
}

// placed is a proposed event with its place in the log, ready to be written.
type placed struct {
	proposed
	revision int64
	position uint64
	created  int64
	middle   []byte // fields with the position
	recorded int    // length of the RecordedEvent message
	read     int    // length of the ReadEvent message
}

func place(event proposed, revision int64, position uint64, created int64) placed {
	p := placed{proposed: event, revision: revision, position: position, created: created}
	middle := make([]byte, 0, 80)
	if revision != 0 {
		middle = protowire.AppendTag(middle, fieldEventRevision, protowire.VarintType)
		middle = protowire.AppendVarint(middle, uint64(revision))
	}
	middle = protowire.AppendTag(middle, fieldEventPrepare, protowire.VarintType)
	middle = protowire.AppendVarint(middle, position)
	middle = protowire.AppendTag(middle, fieldEventCommit, protowire.VarintType)
	middle = protowire.AppendVarint(middle, position)
	p.middle = appendMapEntry(middle, metadataCreated, strconv.FormatInt(created, 10))

	p.recorded = len(event.before) + len(p.middle) + len(event.after)
	p.read = sizeBytesField(fieldReadEvent, p.recorded) +
		protowire.SizeTag(fieldReadCommit) + protowire.SizeVarint(position)
	return p
}

// size returns the length of the record.
func (p *placed) size() int { return recordHeader + sizeBytesField(fieldRespEvent, p.read) }

// encode encodes the record into buf, which must have the record's size.
func (p *placed) encode(buf []byte) {
	out := append(buf[:0], p.id[:]...)
	out = binary.BigEndian.AppendUint64(out, uint64(p.revision))
	out = binary.BigEndian.AppendUint64(out, uint64(p.created))
	spans := out
	out = out[:recordHeader]

	out = protowire.AppendTag(out, fieldRespEvent, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(p.read))
	out = protowire.AppendTag(out, fieldReadEvent, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(p.recorded))
	before := len(out) - recordHeader
	after := before + len(p.before) + len(p.middle)
	out = append(out, p.before...)
	out = append(out, p.middle...)
	out = append(out, p.after...)
	out = protowire.AppendTag(out, fieldReadCommit, protowire.VarintType)
	protowire.AppendVarint(out, p.position)

	spans = appendSpan(spans, before, p.stream)
	spans = appendSpan(spans, after, p.kind)
	appendSpan(spans, after, p.data)
}

func appendSpan(out []byte, base int, s span) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(base+s.at))
	return binary.BigEndian.AppendUint32(out, uint32(s.length))
}

// check returns an error if the header does not fit the record. The other methods require a valid header.
func (r record) check() error {
	if len(r) < recordHeader {
		return fmt.Errorf("%w: %d bytes", errRecord, len(r))
	}
	for _, at := range []int{32, 40, 48} {
		offset := uint64(binary.BigEndian.Uint32(r[at:]))
		length := uint64(binary.BigEndian.Uint32(r[at+4:]))
		if offset+length > uint64(len(r)-recordHeader) {
			return fmt.Errorf("%w: a field lies outside", errRecord)
		}
	}
	return nil
}

func (r record) id() uuid.UUID      { return uuid.UUID(r[:16]) }
func (r record) revision() int64    { return int64(binary.BigEndian.Uint64(r[16:])) }
func (r record) created() time.Time { return timeOf(int64(binary.BigEndian.Uint64(r[24:]))) }
func (r record) stream() []byte     { return r.field(32) }
func (r record) kind() []byte       { return r.field(40) }
func (r record) data() []byte       { return r.field(48) }
func (r record) frame() frame       { return frame(r[recordHeader:]) }

// metadata returns the data if it is flagged as JSON. In the frame, the content type follows the event type.
func (r record) metadata() []byte {
	behind := binary.BigEndian.Uint32(r[40:]) + binary.BigEndian.Uint32(r[44:])
	if !bytes.HasPrefix(r.frame()[behind:], appendMapEntry(nil, metadataContentType, contentTypeJSON)) {
		return nil
	}
	return r.data()
}

// textFrame returns the frame with the event's id as text.
func (r record) textFrame() (frame, error) {
	var response streams.ReadResp
	if err := proto.Unmarshal(r.frame(), &response); err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	response.GetEvent().GetEvent().Id = &shared.UUID{Value: &shared.UUID_String_{String_: r.id().String()}}
	return proto.Marshal(&response)
}

func (r record) field(at int) []byte {
	offset := binary.BigEndian.Uint32(r[at:])
	length := binary.BigEndian.Uint32(r[at+4:])
	return r[recordHeader:][offset : offset+length]
}

// ticks converts t to the unit of created, 100 ns since the Unix epoch.
func ticks(t time.Time) int64 { return t.UnixNano() / 100 }

func timeOf(ticks int64) time.Time { return time.Unix(0, ticks*100).UTC() }

func sizeBytesField(field protowire.Number, length int) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(length)
}

// appendBytesField omits an empty value, as proto3 does.
func appendBytesField(out []byte, field protowire.Number, value []byte) []byte {
	if len(value) == 0 {
		return out
	}
	out = protowire.AppendTag(out, field, protowire.BytesType)
	return protowire.AppendBytes(out, value)
}

func appendMapEntry(out []byte, key, value string) []byte {
	size := sizeBytesField(fieldMapKey, len(key)) + sizeBytesField(fieldMapValue, len(value))
	out = protowire.AppendTag(out, fieldEventMetadata, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(size))
	out = protowire.AppendTag(out, fieldMapKey, protowire.BytesType)
	out = protowire.AppendString(out, key)
	out = protowire.AppendTag(out, fieldMapValue, protowire.BytesType)
	return protowire.AppendString(out, value)
}
