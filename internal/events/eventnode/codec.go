package eventnode

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

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
