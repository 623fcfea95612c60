package eventnode

import (
	"context"
	"errors"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// failure is a gRPC status with the trailers from which clients derive the error (RpcExceptions.cs of EventStoreDB).
type failure struct {
	status   *status.Status
	trailers metadata.MD
}

func (f *failure) Error() string { return f.status.Message() }

// GRPCStatus makes gRPC answer with the status.
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

// deleteConflict returns for deletions the error that appends report in a response.
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
			trailerRequired, metadataType+","+metadataContentType),
	}
}

func accessDenied() error {
	return &failure{
		status:   status.New(codes.PermissionDenied, "Access Denied"),
		trailers: metadata.Pairs(trailerException, "access-denied"),
	}
}

// diskFull refuses an append of which nothing was written. EventStoreDB has no such exception; the code is the one
// that gRPC defines for a file system without space.
func diskFull() error {
	return status.Error(codes.ResourceExhausted, "The disk of the event store is full; nothing was written")
}

// notConfirmed answers an append that is delayed by a full disk and may be written later. EventStoreDB answers the
// same if a write is not confirmed in time.
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
	var f *failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		if err := grpc.SetTrailer(ctx, f.trailers); err != nil {
			return err
		}
		return f.status.Err()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	if _, known := status.FromError(err); known {
		return err
	}
	n.logger.Error("event node: call failed", "call", call, "error", err)
	return status.Error(codes.Internal, "the event store could not be read")
}
