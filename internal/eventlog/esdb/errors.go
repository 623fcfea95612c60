package esdb

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recital-tts/recital/internal/eventlog"
)

// hasCode looks for the library's error in the chain; its own FromError looks at the outermost one only.
func hasCode(err error, wanted ...es.ErrorCode) bool {
	var e *es.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, code := range wanted {
		if e.Code() == code {
			return true
		}
	}
	return false
}

func isConflict(err error) bool { return hasCode(err, es.ErrorCodeWrongExpectedVersion) }

// isRefusal tells whether the event store has answered and written nothing. Every other error leaves the outcome
// open; Aborted too, with which EventStoreDB says that a write was not confirmed in time.
func isRefusal(err error) bool {
	if isConflict(err) || isTooLarge(err) || isFull(err) || hasCode(err, es.ErrorCodeStreamDeleted, es.ErrorCodeResourceNotFound) {
		return true
	}
	switch status.Code(err) {
	case codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented,
		codes.FailedPrecondition, codes.OutOfRange, codes.NotFound, codes.AlreadyExists:
		return true
	default:
		return false
	}
}

// unsentTexts are how gRPC begins the reasons of calls that never got onto a connection: the error of its last dial.
var unsentTexts = []string{
	"Error while dialing",
	"authentication handshake failed",
	"error reading server preface",
}

// isUnsent tells whether the event store cannot have seen the call, or has sent it on to its leader undone. gRPC gives
// the error of its last dial also to a call that the server had not begun when the connection went: it repeats only
// such.
func isUnsent(err error) bool {
	if errors.Is(err, errUnsent) || errors.Is(err, errClosed) || hasCode(err, es.ErrorCodeNotLeader, es.ErrorCodeConnectionClosed) {
		return true
	}
	return status.Code(err) == codes.Unavailable && slices.ContainsFunc(unsentTexts, func(text string) bool {
		return strings.Contains(err.Error(), text)
	})
}

// isTooLarge knows EventStoreDB's own limit (RpcExceptions.MaxAppendSizeExceeded) and that of a gRPC server on one
// message. The trailer that says it exactly is not passed on by the library.
func isTooLarge(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument:
		return strings.Contains(strings.ToLower(err.Error()), "maximum append size")
	case codes.ResourceExhausted:
		return strings.Contains(err.Error(), "larger than max")
	default:
		return false
	}
}

// isFull knows the answer of the embedded node when its disk has no room: nothing was written, and reads go on. What else
// has this code, a proxy's limit for example, says nothing about the outcome.
func isFull(err error) bool {
	return status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "nothing was written")
}

// isBroken tells whether the connection is not to be used any more. The callers' contexts have been looked at before.
func isBroken(err error) bool {
	if hasCode(err, es.ErrorCodeConnectionClosed, es.ErrorCodeNotLeader) || errors.Is(err, errPanicked) {
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true
	default:
		return false
	}
}

// refused is the error of a refusal. The event store's own text may quote what was sent and stays out.
func refused(err error) error {
	var e *es.Error
	switch {
	case isTooLarge(err):
		return eventlog.ErrTooLarge
	case isFull(err):
		return fmt.Errorf("%w: its disk is full", eventlog.ErrUnavailable)
	case hasCode(err, es.ErrorCodeStreamDeleted):
		return errors.New("the stream was deleted")
	case errors.As(err, &e) && status.Code(err) == codes.Unknown:
		return fmt.Errorf("the event store refused it (error code %d)", e.Code())
	default:
		return fmt.Errorf("the event store refused it (%s)", status.Code(err))
	}
}

// unknownRevision stands for an actual revision that the event store did not tell.
const unknownRevision eventlog.Revision = -2

var actualPattern = regexp.MustCompile(`but got '(no_stream|\d+)'`)

// conflict reads the actual revision from the library's text, the only place where it is.
func conflict(stream string, expected eventlog.Revision, err error) *eventlog.ConflictError {
	c := &eventlog.ConflictError{Stream: stream, Expected: expected, Actual: unknownRevision}
	match := actualPattern.FindStringSubmatch(err.Error())
	switch {
	case match == nil:
	case match[1] == "no_stream":
		c.Actual = eventlog.NoStream
	default:
		if revision, err := strconv.ParseInt(match[1], 10, 64); err == nil {
			c.Actual = eventlog.Revision(revision)
		}
	}
	return c
}
