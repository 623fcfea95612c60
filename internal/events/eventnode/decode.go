package eventnode

import (
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/recital-tts/recital/internal/events/protocol"
)

// Field numbers of AppendReq and its parts (streams.proto, shared.proto).
const (
	fieldAppendOptions = 1
	fieldAppendEvent   = 2
)

// appendMessage is a message of an append: options or an event.
type appendMessage struct {
	options *streams.AppendReq_Options
	event   *proposedMessage
}

// proposedMessage is a client's event. Its slices refer to the encoded message. A nil kind or content type is missing.
type proposedMessage struct {
	id                protocol.ID
	kind, contentType []byte
	custom, data      []byte
}

func decodeAppend(message []byte) (appendMessage, error) {
	var m appendMessage
	err := protocol.EachField(message, func(f protocol.Field) error {
		switch f.Is() {
		case protocol.BytesField(fieldAppendOptions):
			if m.options == nil {
				m = appendMessage{options: &streams.AppendReq_Options{}}
			}
			return proto.UnmarshalOptions{Merge: true}.Unmarshal(f.Bytes, m.options)
		case protocol.BytesField(fieldAppendEvent):
			if m.event == nil {
				m = appendMessage{event: &proposedMessage{}}
			}
			return m.event.decode(f.Bytes)
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
	err := protocol.EachField(message, func(f protocol.Field) error {
		switch f.Is() {
		case protocol.BytesField(protocol.FieldBatchCorrelation):
			m.correlation = f.Bytes
		case protocol.BytesField(protocol.FieldBatchOptions):
			if m.options == nil {
				m.options = &streams.BatchAppendReq_Options{}
			}
			return proto.UnmarshalOptions{Merge: true}.Unmarshal(f.Bytes, m.options)
		case protocol.BytesField(protocol.FieldBatchEvent):
			event := &proposedMessage{}
			m.events = append(m.events, event)
			return event.decode(f.Bytes)
		case protocol.VarintField(protocol.FieldBatchFinal):
			m.final = protowire.DecodeBool(f.Varint)
		}
		return nil
	})
	return m, err
}

func (m *proposedMessage) decode(message []byte) error {
	return protocol.EachField(message, func(f protocol.Field) error {
		switch f.Is() {
		case protocol.BytesField(protocol.FieldProposedID):
			return m.id.Decode(f.Bytes)
		case protocol.BytesField(protocol.FieldProposedMetadata):
			return m.decodeProperty(f.Bytes)
		case protocol.BytesField(protocol.FieldProposedCustom):
			m.custom = f.Bytes
		case protocol.BytesField(protocol.FieldProposedData):
			m.data = f.Bytes
		}
		return nil
	})
}

// decodeProperty decodes an entry of the system metadata. The node uses two of them.
func (m *proposedMessage) decodeProperty(entry []byte) error {
	key, value, err := protocol.DecodeProperty(entry)
	switch string(key) {
	case protocol.MetadataType:
		m.kind = value
	case protocol.MetadataContentType:
		m.contentType = value
	}
	return err
}
