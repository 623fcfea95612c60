package eventnode

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Events to append are decoded by hand. They are most of the node's input, and the protobuf library needs about twenty
// allocations for each.

// Field numbers of AppendReq and its parts (streams.proto, shared.proto).
const (
	fieldAppendOptions    = 1
	fieldAppendEvent      = 2
	fieldProposedID       = 1
	fieldProposedMetadata = 2
	fieldProposedCustom   = 3
	fieldProposedData     = 4
	fieldUUIDString       = 2
)

// Field numbers of BatchAppendReq and BatchAppendResp.
const (
	fieldBatchCorrelation = 1
	fieldBatchOptions     = 2
	fieldBatchEvent       = 3
	fieldBatchFinal       = 4
)

var (
	errUTF8        = errors.New("a string field contains invalid UTF-8")
	errFieldNumber = errors.New("a field number is out of range")
)

// appendMessage is a message of an append: options or an event.
type appendMessage struct {
	options *streams.AppendReq_Options
	event   *proposedMessage
}

// proposedMessage is a client's event. Its slices refer to the encoded message. A nil kind or content type is missing.
type proposedMessage struct {
	id                proposedID
	kind, contentType []byte
	custom, data      []byte
}

// proposedID is an event's id in one of its two forms. The zero value is a missing id.
type proposedID struct {
	structured  bool
	most, least uint64
	text        []byte // nil in the structured form
}

func decodeAppend(message []byte) (appendMessage, error) {
	var m appendMessage
	err := eachField(message, func(f field) error {
		switch f.is() {
		case bytesField(fieldAppendOptions):
			if m.options == nil {
				m = appendMessage{options: &streams.AppendReq_Options{}}
			}
			return proto.UnmarshalOptions{Merge: true}.Unmarshal(f.bytes, m.options)
		case bytesField(fieldAppendEvent):
			if m.event == nil {
				m = appendMessage{event: &proposedMessage{}}
			}
			return m.event.decode(f.bytes)
		default:
			return nil
		}
	})
	return m, err
}

// batchMessage is a message of BatchAppend.
type batchMessage struct {
	correlation []byte // an encoded UUID, which is sent back as it is
	options     *streams.BatchAppendReq_Options
	events      []*proposedMessage
	final       bool
}

func decodeBatchAppend(message []byte) (batchMessage, error) {
	var m batchMessage
	err := eachField(message, func(f field) error {
		switch f.is() {
		case bytesField(fieldBatchCorrelation):
			m.correlation = f.bytes
		case bytesField(fieldBatchOptions):
			if m.options == nil {
				m.options = &streams.BatchAppendReq_Options{}
			}
			return proto.UnmarshalOptions{Merge: true}.Unmarshal(f.bytes, m.options)
		case bytesField(fieldBatchEvent):
			event := &proposedMessage{}
			m.events = append(m.events, event)
			return event.decode(f.bytes)
		case varintField(fieldBatchFinal):
			m.final = protowire.DecodeBool(f.varint)
		}
		return nil
	})
	return m, err
}

func (m *proposedMessage) decode(message []byte) error {
	return eachField(message, func(f field) error {
		switch f.is() {
		case bytesField(fieldProposedID):
			return m.id.decode(f.bytes)
		case bytesField(fieldProposedMetadata):
			return m.decodeProperty(f.bytes)
		case bytesField(fieldProposedCustom):
			m.custom = f.bytes
		case bytesField(fieldProposedData):
			m.data = f.bytes
		}
		return nil
	})
}

// decodeProperty decodes an entry of the system metadata. The node uses two of them.
func (m *proposedMessage) decodeProperty(entry []byte) error {
	key, value := []byte{}, []byte{}
	err := eachField(entry, func(f field) error {
		switch f.is() {
		case bytesField(fieldMapKey):
			key = f.bytes
		case bytesField(fieldMapValue):
			value = f.bytes
		default:
			return nil
		}
		return checkUTF8(f.bytes)
	})
	switch string(key) {
	case metadataType:
		m.kind = value
	case metadataContentType:
		m.contentType = value
	}
	return err
}

func (id *proposedID) decode(message []byte) error {
	return eachField(message, func(f field) error {
		switch f.is() {
		case bytesField(fieldUUIDStructured):
			if !id.structured {
				*id = proposedID{structured: true}
			}
			return id.decodeStructured(f.bytes)
		case bytesField(fieldUUIDString):
			*id = proposedID{text: f.bytes}
			return checkUTF8(f.bytes)
		default:
			return nil
		}
	})
}

func (id *proposedID) decodeStructured(message []byte) error {
	return eachField(message, func(f field) error {
		switch f.is() {
		case varintField(fieldUUIDMost):
			id.most = f.varint
		case varintField(fieldUUIDLeast):
			id.least = f.varint
		}
		return nil
	})
}

// uuid returns the id, or an error if it is missing or malformed.
func (id *proposedID) uuid() (uuid.UUID, error) {
	switch {
	case id.structured:
		var parsed uuid.UUID
		binary.BigEndian.PutUint64(parsed[:8], id.most)
		binary.BigEndian.PutUint64(parsed[8:], id.least)
		return parsed, nil
	case id.text != nil:
		parsed, err := uuid.ParseBytes(id.text)
		if err != nil {
			return uuid.UUID{}, invalidArgument("the event's id is not a UUID")
		}
		return parsed, nil
	default:
		return uuid.UUID{}, invalidArgument("the event has no id")
	}
}

func checkUTF8(text []byte) error {
	if !utf8.Valid(text) {
		return errUTF8
	}
	return nil
}

// field is a field of an encoded message.
type field struct {
	number protowire.Number
	wire   protowire.Type
	bytes  []byte
	varint uint64
}

// fieldIs is the number and encoding of a field. A field with another encoding does not match.
type fieldIs struct {
	number protowire.Number
	wire   protowire.Type
}

func (f *field) is() fieldIs { return fieldIs{f.number, f.wire} }

func bytesField(number protowire.Number) fieldIs  { return fieldIs{number, protowire.BytesType} }
func varintField(number protowire.Number) fieldIs { return fieldIs{number, protowire.VarintType} }

// eachField calls visit for each field of a message.
func eachField(message []byte, visit func(field) error) error {
	for len(message) > 0 {
		number, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if number > protowire.MaxValidNumber {
			return errFieldNumber
		}
		message = message[n:]
		f := field{number: number, wire: wire}
		switch wire {
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(number, wire, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}
