// Package protocol has the parts of EventStoreDB's protocol that are encoded and decoded by hand. Events are nearly all
// of its traffic, and the protobuf library needs about twenty allocations for each.
package protocol

import (
	"encoding/binary"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of ReadResp and its parts (streams.proto, shared.proto).
const (
	FieldRespEvent     = 1
	FieldReadEvent     = 1
	FieldReadCommit    = 3
	FieldEventID       = 1
	FieldEventStream   = 2
	FieldEventRevision = 3
	FieldEventPrepare  = 4
	FieldEventCommit   = 5
	FieldEventMetadata = 6
	FieldEventCustom   = 7
	FieldEventData     = 8
	FieldStreamName    = 3

	fieldUUIDStructured = 1
	fieldUUIDString     = 2
	fieldUUIDMost       = 1
	fieldUUIDLeast      = 2
	fieldMapKey         = 1
	fieldMapValue       = 2
)

// Field numbers of BatchAppendReq and its parts, and of BatchAppendResp.
const (
	FieldBatchCorrelation = 1
	FieldBatchOptions     = 2
	FieldBatchEvent       = 3
	FieldBatchFinal       = 4
	FieldOptionsStream    = 1
	FieldOptionsRevision  = 2
	FieldOptionsNoStream  = 3
	FieldProposedID       = 1
	FieldProposedMetadata = 2
	FieldProposedCustom   = 3
	FieldProposedData     = 4
)

// Keys of the system metadata that every event has. The official client exits the process if created is missing.
const (
	MetadataType        = "type"
	MetadataContentType = "content-type"
	MetadataCreated     = "created" // 100 ns ticks since the Unix epoch
)

// Content types of JSON and of all other data.
const (
	ContentTypeJSON   = "application/json"
	ContentTypeBinary = "application/octet-stream"
)

var (
	errUTF8        = errors.New("a string field contains invalid UTF-8")
	errFieldNumber = errors.New("a field number is out of range")
)

// Field is a field of an encoded message. Bytes refers to the message.
type Field struct {
	number protowire.Number
	wire   protowire.Type
	Bytes  []byte
	Varint uint64
}

// FieldIs is the number and encoding of a field. A field with another encoding does not match.
type FieldIs struct {
	number protowire.Number
	wire   protowire.Type
}

// Is returns the field's number and encoding.
func (f *Field) Is() FieldIs { return FieldIs{f.number, f.wire} }

// BytesField is a field with bytes, a string or a message.
func BytesField(number protowire.Number) FieldIs { return FieldIs{number, protowire.BytesType} }

// VarintField is a field with an integer or a bool.
func VarintField(number protowire.Number) FieldIs { return FieldIs{number, protowire.VarintType} }

// EachField calls visit for each field of a message, until it returns an error.
func EachField(message []byte, visit func(Field) error) error {
	for len(message) > 0 {
		number, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if number > protowire.MaxValidNumber {
			return errFieldNumber
		}
		message = message[n:]
		f := Field{number: number, wire: wire}
		switch wire {
		case protowire.BytesType:
			f.Bytes, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			f.Varint, n = protowire.ConsumeVarint(message)
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

// checkUTF8 returns an error for a string field that the protobuf library would refuse.
func checkUTF8(text []byte) error {
	if !utf8.Valid(text) {
		return errUTF8
	}
	return nil
}

// Ticks converts t to the unit of MetadataCreated.
func Ticks(t time.Time) int64 { return t.UnixNano() / 100 }

// TimeOf returns the time of ticks, in UTC.
func TimeOf(ticks int64) time.Time { return time.Unix(0, ticks*100).UTC() }

// DecodeProperty decodes an entry of the system metadata.
func DecodeProperty(entry []byte) (key, value []byte, err error) {
	key, value = []byte{}, []byte{}
	err = EachField(entry, func(f Field) error {
		switch f.Is() {
		case BytesField(fieldMapKey):
			key = f.Bytes
		case BytesField(fieldMapValue):
			value = f.Bytes
		default:
			return nil
		}
		return checkUTF8(f.Bytes)
	})
	return key, value, err
}

// ID is an event's id in one of its two forms. The zero value is a missing id.
type ID struct {
	structured  bool
	most, least uint64
	text        []byte // nil in the structured form
}

var (
	errNoID        = errors.New("the event has no id")
	errMalformedID = errors.New("the event's id is not a UUID")
)

// Decode merges an encoded UUID into the id. A text refers to the message.
func (id *ID) Decode(message []byte) error {
	return EachField(message, func(f Field) error {
		switch f.Is() {
		case BytesField(fieldUUIDStructured):
			if !id.structured {
				*id = ID{structured: true}
			}
			return id.decodeStructured(f.Bytes)
		case BytesField(fieldUUIDString):
			*id = ID{text: f.Bytes}
			return checkUTF8(f.Bytes)
		default:
			return nil
		}
	})
}

func (id *ID) decodeStructured(message []byte) error {
	return EachField(message, func(f Field) error {
		switch f.Is() {
		case VarintField(fieldUUIDMost):
			id.most = f.Varint
		case VarintField(fieldUUIDLeast):
			id.least = f.Varint
		}
		return nil
	})
}

// UUID returns the id, or an error if it is missing or malformed.
func (id *ID) UUID() (uuid.UUID, error) {
	switch {
	case id.structured:
		var parsed uuid.UUID
		binary.BigEndian.PutUint64(parsed[:8], id.most)
		binary.BigEndian.PutUint64(parsed[8:], id.least)
		return parsed, nil
	case id.text != nil:
		parsed, err := uuid.ParseBytes(id.text)
		if err != nil {
			return uuid.UUID{}, errMalformedID
		}
		return parsed, nil
	default:
		return uuid.UUID{}, errNoID
	}
}

// AppendUUID appends a field with a structured UUID.
func AppendUUID(out []byte, field protowire.Number, id uuid.UUID) []byte {
	most, least := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	size := protowire.SizeTag(fieldUUIDMost) + protowire.SizeVarint(most) +
		protowire.SizeTag(fieldUUIDLeast) + protowire.SizeVarint(least)
	out = protowire.AppendTag(out, field, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(SizeBytesField(fieldUUIDStructured, size)))
	out = protowire.AppendTag(out, fieldUUIDStructured, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(size))
	out = protowire.AppendTag(out, fieldUUIDMost, protowire.VarintType)
	out = protowire.AppendVarint(out, most)
	out = protowire.AppendTag(out, fieldUUIDLeast, protowire.VarintType)
	return protowire.AppendVarint(out, least)
}

// AppendStream appends a field with the identifier of a stream.
func AppendStream(out []byte, field protowire.Number, stream string) []byte {
	out = protowire.AppendTag(out, field, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(SizeBytesField(FieldStreamName, len(stream))))
	out = protowire.AppendTag(out, FieldStreamName, protowire.BytesType)
	return protowire.AppendString(out, stream)
}

// AppendProperty appends a field with an entry of the system metadata.
func AppendProperty(out []byte, field protowire.Number, key, value string) []byte {
	size := SizeBytesField(fieldMapKey, len(key)) + SizeBytesField(fieldMapValue, len(value))
	out = protowire.AppendTag(out, field, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(size))
	out = protowire.AppendTag(out, fieldMapKey, protowire.BytesType)
	out = protowire.AppendString(out, key)
	out = protowire.AppendTag(out, fieldMapValue, protowire.BytesType)
	return protowire.AppendString(out, value)
}

// AppendBytesField omits an empty value, as proto3 does.
func AppendBytesField(out []byte, field protowire.Number, value []byte) []byte {
	if len(value) == 0 {
		return out
	}
	out = protowire.AppendTag(out, field, protowire.BytesType)
	return protowire.AppendBytes(out, value)
}

// SizeBytesField returns the size of a field with bytes.
func SizeBytesField(field protowire.Number, length int) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(length)
}
