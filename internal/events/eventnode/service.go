package eventnode

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// serverVersion is the EventStoreDB version whose behaviour the node follows. Clients expect three integers.
const serverVersion = "24.6.0"

// featuresService serves event_store.client.server_features.ServerFeatures, which clients call when they connect.
type featuresService struct {
	serverfeatures.UnimplementedServerFeaturesServer
}

// GetSupportedMethods returns the methods of the node, in lower case as EventStoreDB does.
func (featuresService) GetSupportedMethods(context.Context, *shared.Empty) (*serverfeatures.SupportedMethods, error) {
	const streams = "event_store.client.streams.streams"
	return &serverfeatures.SupportedMethods{
		EventStoreServerVersion: serverVersion,
		Methods: []*serverfeatures.SupportedMethod{
			{ServiceName: streams, MethodName: "append"},
			{ServiceName: streams, MethodName: "read"},
			{ServiceName: streams, MethodName: "delete"},
			{ServiceName: streams, MethodName: "tombstone"},
			{ServiceName: "event_store.client.server_features.serverfeatures", MethodName: "getsupportedmethods"},
		},
	}, nil
}

// frame is an encoded message that is sent to the client unchanged.
type frame []byte

// received is an encoded message as sent by the client. Its bytes are valid until it is freed.
type received struct{ mem.Buffer }

// frameCodec is the protobuf codec of the server; it passes frames and received messages through. A frame's bytes
// must not change after it was sent: the transport writes them later.
type frameCodec struct{ encoding.CodecV2 }

func newFrameCodec() frameCodec { return frameCodec{encoding.GetCodecV2(proto.Name)} }

func (c frameCodec) Marshal(message any) (mem.BufferSlice, error) {
	if f, ok := message.(frame); ok {
		return mem.BufferSlice{mem.SliceBuffer(f)}, nil
	}
	return c.CodecV2.Marshal(message)
}

func (c frameCodec) Unmarshal(data mem.BufferSlice, message any) error {
	if r, ok := message.(*received); ok {
		r.Buffer = data.MaterializeToBuffer(mem.DefaultBufferPool())
		return nil
	}
	return c.CodecV2.Unmarshal(data, message)
}
