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

	"github.com/recital-tts/recital/internal/events/protocol"
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
	event := proposed{id: id, json: contentType == protocol.ContentTypeJSON}

	const framing = 48 // maximum overhead of before; after has at most twice as much
	all := make([]byte, len(stream)+len(kind)+len(custom)+len(data)+3*framing)
	before := all[: 0 : len(stream)+framing]
	before = protocol.AppendUUID(before, protocol.FieldEventID, id)
	before = protocol.AppendStream(before, protocol.FieldEventStream, stream)
	event.stream = span{at: len(before) - len(stream), length: len(stream)}
	event.before = before

	after := all[len(before):len(before)]
	after = appendMetadata(after, protocol.MetadataType, kind)
	event.kind = span{at: len(after) - len(kind), length: len(kind)}
	after = appendMetadata(after, protocol.MetadataContentType, contentType)
	after = protocol.AppendBytesField(after, protocol.FieldEventCustom, custom)
	after = protocol.AppendBytesField(after, protocol.FieldEventData, data)
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
		middle = protowire.AppendTag(middle, protocol.FieldEventRevision, protowire.VarintType)
		middle = protowire.AppendVarint(middle, uint64(revision))
	}
	middle = protowire.AppendTag(middle, protocol.FieldEventPrepare, protowire.VarintType)
	middle = protowire.AppendVarint(middle, position)
	middle = protowire.AppendTag(middle, protocol.FieldEventCommit, protowire.VarintType)
	middle = protowire.AppendVarint(middle, position)
	p.middle = appendMetadata(middle, protocol.MetadataCreated, strconv.FormatInt(created, 10))

	p.recorded = len(event.before) + len(p.middle) + len(event.after)
	p.read = protocol.SizeBytesField(protocol.FieldReadEvent, p.recorded) +
		protowire.SizeTag(protocol.FieldReadCommit) + protowire.SizeVarint(position)
	return p
}

// size returns the length of the record.
func (p *placed) size() int {
	return recordHeader + protocol.SizeBytesField(protocol.FieldRespEvent, p.read)
}

// encode encodes the record into buf, which must have the record's size.
func (p *placed) encode(buf []byte) {
	out := append(buf[:0], p.id[:]...)
	out = binary.BigEndian.AppendUint64(out, uint64(p.revision))
	out = binary.BigEndian.AppendUint64(out, uint64(p.created))
	spans := out
	out = out[:recordHeader]

	out = protowire.AppendTag(out, protocol.FieldRespEvent, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(p.read))
	out = protowire.AppendTag(out, protocol.FieldReadEvent, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(p.recorded))
	before := len(out) - recordHeader
	after := before + len(p.before) + len(p.middle)
	out = append(out, p.before...)
	out = append(out, p.middle...)
	out = append(out, p.after...)
	out = protowire.AppendTag(out, protocol.FieldReadCommit, protowire.VarintType)
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
func (r record) created() time.Time { return protocol.TimeOf(int64(binary.BigEndian.Uint64(r[24:]))) }
func (r record) stream() []byte     { return r.field(32) }
func (r record) kind() []byte       { return r.field(40) }
func (r record) data() []byte       { return r.field(48) }
func (r record) frame() frame       { return frame(r[recordHeader:]) }

// metadata returns the data if it is flagged as JSON. In the frame, the content type follows the event type.
func (r record) metadata() []byte {
	behind := binary.BigEndian.Uint32(r[40:]) + binary.BigEndian.Uint32(r[44:])
	json := appendMetadata(nil, protocol.MetadataContentType, protocol.ContentTypeJSON)
	if !bytes.HasPrefix(r.frame()[behind:], json) {
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

func appendMetadata(out []byte, key, value string) []byte {
	return protocol.AppendProperty(out, protocol.FieldEventMetadata, key, value)
}
