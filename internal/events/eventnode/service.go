package eventnode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/recital-tts/recital/internal/events/protocol"
)

// serverVersion is the version of EventStoreDB that the node emulates. Clients expect three integers.
const serverVersion = "24.6.0"

// featuresService serves event_store.client.server_features.ServerFeatures, which clients call when they connect.
type featuresService struct {
	serverfeatures.UnimplementedServerFeaturesServer
}

// GetSupportedMethods returns the node's methods, in lower case as in EventStoreDB.
func (featuresService) GetSupportedMethods(context.Context, *shared.Empty) (*serverfeatures.SupportedMethods, error) {
	const streams = "event_store.client.streams.streams"
	return &serverfeatures.SupportedMethods{
		EventStoreServerVersion: serverVersion,
		Methods: []*serverfeatures.SupportedMethod{
			{ServiceName: streams, MethodName: "append"},
			{ServiceName: streams, MethodName: "batchappend"},
			{ServiceName: streams, MethodName: "read"},
			{ServiceName: streams, MethodName: "delete"},
			{ServiceName: streams, MethodName: "tombstone"},
			{ServiceName: "event_store.client.server_features.serverfeatures", MethodName: "getsupportedmethods"},
		},
	}, nil
}

// frame is an encoded message that is sent to the client unchanged.
type frame []byte

// received is an encoded message from the client. Its bytes are valid until it is freed.
type received struct{ mem.Buffer }

// frameCodec is the server's protobuf codec. It passes frames and received messages through. The bytes of a frame must
// not change after it is sent, because the transport writes them later.
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

// maxSocketPath is the maximum length of a unix socket's path on Linux (sun_path without the final zero).
const maxSocketPath = 107

// listenUnix listens on a socket with mode 0600. It replaces the socket of a dead node, and returns an error if the
// socket belongs to a running process.
func listenUnix(path string) (net.Listener, error) {
	switch {
	case path == "":
		return nil, errors.New("the event node needs a socket path")
	case len(path) > maxSocketPath:
		return nil, fmt.Errorf("the socket path %s has %d bytes; at most %d are allowed: use a shorter folder",
			path, len(path), maxSocketPath)
	}
	if err := removeDeadSocket(path); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening on the event node's socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protecting the event node's socket: %w", err), listener.Close())
	}
	return listener, nil
}

func removeDeadSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the event node's socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	if conn, err := net.Dial("unix", path); err == nil {
		return errors.Join(fmt.Errorf("another process serves %s", path), conn.Close())
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the socket of a dead event node: %w", err)
	}
	return nil
}

// listenLoopback listens on TCP for other clients on this machine. The node has no authentication, so it does not serve
// a network.
func listenLoopback(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("the event node's address: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("the event node serves loopback addresses only, not %q", host)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on the event node's address: %w", err)
	}
	return listener, nil
}

// failure is a gRPC status with the trailers that clients read the error from (RpcExceptions.cs of EventStoreDB).
type failure struct {
	status   *status.Status
	trailers metadata.MD
}

func (f *failure) Error() string { return f.status.Message() }

// GRPCStatus implements the interface that gRPC reads the status of an error from.
func (f *failure) GRPCStatus() *status.Status { return f.status }

// Trailers of EventStoreDB's exceptions.
const (
	trailerException     = "exception"
	trailerStream        = "stream-name"
	trailerMaxAppendSize = "maximum-append-size"
	trailerRequired      = "required-metadata-properties"
	trailerExpected      = "expected-version"
	trailerActual        = "actual-version"
)

func streamDeleted(stream string) error {
	return &failure{
		status:   status.Newf(codes.FailedPrecondition, "Event stream '%s' is deleted.", stream),
		trailers: metadata.Pairs(trailerException, "stream-deleted", trailerStream, stream),
	}
}

func nodeFailed() error { return status.Error(codes.Unavailable, "the event store failed") }

// deleteConflict returns the error of a deletion at a wrong revision, which appends report in their response.
func deleteConflict(stream string, expected expectation, current int64) error {
	return &failure{
		status: status.Newf(codes.FailedPrecondition,
			"Delete failed due to WrongExpectedVersion. Stream: %s, Expected version: %d, Actual version: %d",
			stream, expected, current),
		trailers: metadata.Pairs(trailerException, "wrong-expected-version", trailerStream, stream,
			trailerExpected, strconv.FormatInt(expected, 10), trailerActual, strconv.FormatInt(current, 10)),
	}
}

func appendTooLarge() error {
	size := strconv.Itoa(maxAppendBytes)
	return &failure{
		status:   status.Newf(codes.InvalidArgument, "Maximum Append Size of %s Exceeded.", size),
		trailers: metadata.Pairs(trailerException, "maximum-append-size-exceeded", trailerMaxAppendSize, size),
	}
}

func missingMetadata(property string) error {
	return &failure{
		status: status.Newf(codes.InvalidArgument, "Required Metadata Property '%s' is missing", property),
		trailers: metadata.Pairs(trailerException, "missing-required-metadata-property",
			trailerRequired, protocol.MetadataType+","+protocol.MetadataContentType),
	}
}

func accessDenied() error {
	return &failure{
		status:   status.New(codes.PermissionDenied, "Access Denied"),
		trailers: metadata.Pairs(trailerException, "access-denied"),
	}
}

// diskFull returns the refusal of an append that was not written. EventStoreDB has no such exception. The code is
// gRPC's for a file system without space.
func diskFull() error {
	return status.Error(codes.ResourceExhausted, "The disk of the event store is full; nothing was written")
}

// notConfirmed is the response to an append that waits for disk space and may still be written. EventStoreDB returns
// the same if a write is not confirmed in time.
func notConfirmed() error {
	return status.Error(codes.Aborted, "The disk of the event store is full; the append was not confirmed")
}

func invalidArgument(message string) error { return status.Error(codes.InvalidArgument, message) }

// malformed returns gRPC's error for an invalid message.
func malformed(err error) error {
	return status.Errorf(codes.Internal, "the message is malformed: %v", err)
}

func nodeClosing() error { return status.Error(codes.Unavailable, "the event node is closing") }

// finish converts an error of a call into its response.
func (n *Node) finish(ctx context.Context, call string, err error) error {
	if err == nil {
		return nil
	}
	if f, found := errors.AsType[*failure](err); found {
		if err := grpc.SetTrailer(ctx, f.trailers); err != nil {
			return err
		}
	}
	return n.status(call, err).Err()
}

// status returns the status that the client gets for an error.
func (n *Node) status(call string, err error) *status.Status {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err)
	}
	if f, found := errors.AsType[*failure](err); found {
		return f.status
	}
	if s, known := status.FromError(err); known {
		return s
	}
	n.logger.Error("event node: call failed", "call", call, "error", err)
	return status.New(codes.Internal, "the event store could not be read")
}
