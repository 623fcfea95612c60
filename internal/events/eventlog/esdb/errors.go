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

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// hasCode reports whether the chain of err contains a library error with one of the codes. The library's own FromError
// only checks the outermost error.
func hasCode(err error, wanted ...es.ErrorCode) bool {
	e, found := errors.AsType[*es.Error](err)
	return found && slices.Contains(wanted, e.Code())
}

func hasStatus(err error, wanted ...codes.Code) bool {
	return slices.Contains(wanted, status.Code(err))
}

func isConflict(err error) bool {
	_, batched := errors.AsType[*eventlog.ConflictError](err)
	return batched || hasCode(err, es.ErrorCodeWrongExpectedVersion)
}

// isRefusal reports whether the event store responded and wrote nothing. All other errors leave the outcome open,
// including Aborted, with which EventStoreDB reports that a write was not confirmed in time.
func isRefusal(err error) bool {
	return isConflict(err) || isTooLarge(err) || isFull(err) ||
		hasCode(err, es.ErrorCodeStreamDeleted, es.ErrorCodeResourceNotFound) ||
		hasStatus(err, codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented,
			codes.FailedPrecondition, codes.OutOfRange, codes.NotFound, codes.AlreadyExists)
}

// unsentTexts are parts of gRPC's error messages for calls that were never sent, from its last dial.
var unsentTexts = []string{
	"Error while dialing",
	"authentication handshake failed",
	"error reading server preface",
}

// isUnsent reports whether the event store cannot have processed the call, or has redirected it to its leader without
// executing it. gRPC also returns the error of its last dial for a call that it repeated, but it only repeats calls
// that the server had not started.
func isUnsent(err error) bool {
	if errors.Is(err, errUnsent) || errors.Is(err, errClosed) ||
		hasCode(err, es.ErrorCodeNotLeader, es.ErrorCodeConnectionClosed) {
		return true
	}
	return status.Code(err) == codes.Unavailable && slices.ContainsFunc(unsentTexts, func(text string) bool {
		return strings.Contains(err.Error(), text)
	})
}

// isTooLarge recognises EventStoreDB's limit (RpcExceptions.MaxAppendSizeExceeded) and a gRPC server's limit on a
// message. The library does not pass on the trailer that would identify the error.
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

// isFull recognises the response of an embedded node whose disk is full: nothing was written, and reads still work.
// Other errors with this code, such as a proxy's limit, leave the outcome open.
func isFull(err error) bool {
	return status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "nothing was written")
}

// isBroken reports whether the connection must not be used any more. The caller has checked its own context before.
func isBroken(err error) bool {
	return hasCode(err, es.ErrorCodeConnectionClosed, es.ErrorCodeNotLeader) || errors.Is(err, errPanicked) ||
		hasStatus(err, codes.Unavailable, codes.DeadlineExceeded, codes.Canceled)
}

// refused returns the error of a refusal. It omits the event store's own text, which may quote the request.
func refused(err error) error {
	var e *es.Error
	switch {
	case isTooLarge(err):
		return eventlog.ErrTooLarge
	case isFull(err):
		return fmt.Errorf("%w: its disk is full", eventlog.ErrUnavailable)
	case hasCode(err, es.ErrorCodeStreamDeleted), hasStatus(err, codes.NotFound, codes.FailedPrecondition):
		return errors.New("the stream was deleted")
	case status.Code(err) == codes.Unauthenticated:
		return errors.New("the event store refused the user name or the password of its connection string")
	case status.Code(err) == codes.PermissionDenied:
		return errors.New("the user of the event store's connection string lacks a right")
	case errors.As(err, &e) && status.Code(err) == codes.Unknown:
		return fmt.Errorf("the event store refused it (error code %d)", e.Code())
	default:
		return fmt.Errorf("the event store refused it (%s)", status.Code(err))
	}
}

// refusedAll is like refused, for reads of $all. By default, EventStoreDB permits them to administrators only.
func refusedAll(err error) error {
	if status.Code(err) == codes.PermissionDenied {
		return errors.New("the user of the event store's connection string may not read $all; an " +
			"administrator grants it with " +
			`{"$acl":{"$r":["$admins","USER"]}} as the metadata of the stream $all`)
	}
	return refused(err)
}

// undialled returns the reason why a dial failed, with advice where possible. gRPC's error text is the only source.
func undialled(err error, plain bool) string {
	text := err.Error()
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case has("x509:"):
		_, reason, _ := strings.Cut(text, "x509: ")
		return "the certificate of the event store is not trusted (" + strings.TrimRight(reason, `"`) +
			"); name the file of its authority with tlsCaFile= in the connection string"
	case has("first record does not look like a TLS handshake"):
		return "the event store does not speak TLS at this address (tls=false is for that)"
	case plain && (has("error reading server preface") || has("malformed HTTP response")):
		return "the event store does not answer in plain text; it may want TLS (tls=true)"
	default:
		return text
	}
}

// unknownRevision means that the event store did not report the actual revision.
const unknownRevision eventlog.Revision = -2

var actualPattern = regexp.MustCompile(`but got '(no_stream|\d+)'`)

// conflict returns the conflict that the event store reported. The library passes on the actual revision in the text of
// its error only.
func conflict(stream string, expected eventlog.Revision, err error) *eventlog.ConflictError {
	if batched, found := errors.AsType[*eventlog.ConflictError](err); found {
		return batched
	}
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
