package esdb

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/protocol"
)

// node is the embedded node, without the library: there is nothing to discover, all operations end with their contexts,
// and events are decoded without the protobuf library, which takes several times the processor time.
type node struct {
	conn *grpc.ClientConn
	*batch
}

// openNode connects to the node. Its appends end with ctx.
func openNode(ctx context.Context, address string) (*node, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(nodeCodec{encoding.GetCodecV2(encodingproto.Name)})))
	if err != nil {
		return nil, err
	}
	b, err := openBatch(ctx, conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &node{conn, b}, nil
}

func (n *node) close() { _ = n.conn.Close() } // fails only if it is closed

func (n *node) read(ctx context.Context, from place, size int) (page, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := &streams.ReadReq_Options{CountOption: &streams.ReadReq_Options_Count{Count: uint64(size)}}
	if from.backwards {
		options.ReadDirection = streams.ReadReq_Options_Backwards
	}
	if from.stream == "" {
		options.StreamOption = inLog(from.position, from.end)
	} else {
		options.StreamOption = inStream(from)
	}
	next, err := n.open(ctx, options)
	if err != nil {
		return page{}, err
	}
	return collect(size, func() (eventlog.Recorded, error) {
		message, err := next()
		switch {
		case err != nil:
			return eventlog.Recorded{}, err
		case message.event == nil: // there is no such stream
			return eventlog.Recorded{}, io.EOF
		}
		return *message.event, nil
	})
}

// subscribe does not filter out system events, because the node has hardly any.
func (n *node) subscribe(ctx context.Context, after eventlog.Position) (next func() (received, error), err error) {
	options := &streams.ReadReq_Options{
		CountOption: &streams.ReadReq_Options_Subscription{
			Subscription: &streams.ReadReq_Options_SubscriptionOptions{},
		},
		StreamOption: inLog(after, false),
	}
	if next, err = n.open(ctx, options); err != nil {
		return nil, err
	}
	_, err = next() // the confirmation
	return next, err
}

// open sends a read, and returns a function that receives its next message.
func (n *node) open(ctx context.Context, options *streams.ReadReq_Options) (next func() (received, error), err error) {
	options.FilterOption = &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}}
	options.UuidOption = &streams.ReadReq_Options_UUIDOption{
		Content: &streams.ReadReq_Options_UUIDOption_Structured{Structured: &shared.Empty{}},
	}
	call, err := streams.NewStreamsClient(n.conn).Read(ctx, &streams.ReadReq{Options: options})
	if err != nil {
		return nil, err
	}
	return func() (message received, err error) {
		err = call.RecvMsg(&message)
		return message, err
	}, nil
}

func inLog(position eventlog.Position, end bool) *streams.ReadReq_Options_All {
	options := &streams.ReadReq_Options_AllOptions{}
	switch {
	case end:
		options.AllOption = &streams.ReadReq_Options_AllOptions_End{End: &shared.Empty{}}
	case position == eventlog.Start():
		options.AllOption = &streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}}
	default:
		options.AllOption = &streams.ReadReq_Options_AllOptions_Position{Position: &streams.ReadReq_Options_Position{
			CommitPosition: position.Commit, PreparePosition: position.Prepare,
		}}
	}
	return &streams.ReadReq_Options_All{All: options}
}

func inStream(from place) *streams.ReadReq_Options_Stream {
	options := &streams.ReadReq_Options_StreamOptions{
		StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(from.stream)},
		RevisionOption:   &streams.ReadReq_Options_StreamOptions_Revision{Revision: from.revision},
	}
	if from.end {
		options.RevisionOption = &streams.ReadReq_Options_StreamOptions_End{End: &shared.Empty{}}
	}
	return &streams.ReadReq_Options_Stream{Stream: options}
}

// nodeCodec is the client's protobuf codec. Messages with events do not pass through the protobuf library.
type nodeCodec struct{ encoding.CodecV2 }

// encoded is an encoded message.
type encoded []byte

func (c nodeCodec) Marshal(message any) (mem.BufferSlice, error) {
	if e, ok := message.(encoded); ok {
		return mem.BufferSlice{mem.SliceBuffer(e)}, nil
	}
	return c.CodecV2.Marshal(message)
}

func (c nodeCodec) Unmarshal(data mem.BufferSlice, message any) error {
	if r, ok := message.(*received); ok {
		return r.decode(data.Materialize()) // a copy, which the event keeps
	}
	return c.CodecV2.Unmarshal(data, message)
}

// decode decodes a ReadResp. The event refers to the message.
func (r *received) decode(message []byte) error {
	err := protocol.EachField(message, func(f protocol.Field) error {
		if f.Is() != protocol.BytesField(protocol.FieldRespEvent) {
			return nil
		}
		return protocol.EachField(f.Bytes, func(f protocol.Field) error {
			if f.Is() != protocol.BytesField(protocol.FieldReadEvent) {
				return nil
			}
			if r.event == nil {
				r.event = &eventlog.Recorded{}
			}
			return decodeRecorded(f.Bytes, r.event)
		})
	})
	if err != nil || r.event != nil {
		return err
	}
	var other streams.ReadResp
	err = proto.Unmarshal(message, &other)
	r.caughtUp = other.GetCaughtUp() != nil
	return err
}

// decodeRecorded decodes a RecordedEvent. The event refers to the message.
func decodeRecorded(message []byte, event *eventlog.Recorded) error {
	var id protocol.ID
	var created []byte
	err := protocol.EachField(message, func(f protocol.Field) error {
		switch f.Is() {
		case protocol.BytesField(protocol.FieldEventID):
			return id.Decode(f.Bytes)
		case protocol.BytesField(protocol.FieldEventStream):
			return decodeStream(f.Bytes, event)
		case protocol.VarintField(protocol.FieldEventRevision):
			event.Revision = f.Varint
		case protocol.VarintField(protocol.FieldEventPrepare):
			event.Position.Prepare = f.Varint
		case protocol.VarintField(protocol.FieldEventCommit):
			event.Position.Commit = f.Varint
		case protocol.BytesField(protocol.FieldEventMetadata):
			key, value, err := protocol.DecodeProperty(f.Bytes)
			switch string(key) {
			case protocol.MetadataType:
				event.Type = string(value)
			case protocol.MetadataContentType:
				event.Binary = string(value) == protocol.ContentTypeBinary
			case protocol.MetadataCreated:
				created = value
			}
			return err
		case protocol.BytesField(protocol.FieldEventCustom):
			event.Metadata = f.Bytes
		case protocol.BytesField(protocol.FieldEventData):
			event.Data = f.Bytes
		}
		return nil
	})
	if err != nil {
		return err
	}
	if event.ID, err = id.UUID(); err != nil {
		return err
	}
	ticks, err := strconv.ParseInt(string(created), 10, 64)
	if err != nil {
		return errors.New("the time of the event is missing or malformed")
	}
	event.Created = protocol.TimeOf(ticks)
	return nil
}

func decodeStream(identifier []byte, event *eventlog.Recorded) error {
	return protocol.EachField(identifier, func(f protocol.Field) error {
		if f.Is() == protocol.BytesField(protocol.FieldStreamName) {
			event.Stream = string(f.Bytes)
		}
		return nil
	})
}
