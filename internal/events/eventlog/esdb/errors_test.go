package esdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// Errors that are not known to be responses leave the outcome of an append open.
func TestOnlyAnswersAreRefusals(t *testing.T) {
	answer := func(code codes.Code) error { return fmt.Errorf("wrapped: %w", status.Error(code, "text")) }
	tests := []struct {
		err             error
		refusal, broken bool
	}{
		{answer(codes.InvalidArgument), true, false},
		{answer(codes.Unauthenticated), true, false},
		{answer(codes.PermissionDenied), true, false},
		{answer(codes.Unimplemented), true, false},
		{answer(codes.FailedPrecondition), true, false},
		{status.Error(codes.InvalidArgument, "Maximum Append Size of 1048576 Exceeded."), true, false},
		{status.Error(codes.ResourceExhausted, "grpc: received message larger than max (2 vs. 1)"), true, false},
		{status.Error(codes.ResourceExhausted, "The disk of the event store is full; nothing was written"), true, false},
		{answer(codes.ResourceExhausted), false, false},
		{answer(codes.Aborted), false, false},
		{answer(codes.Internal), false, false},
		{answer(codes.Unknown), false, false},
		{io.EOF, false, false},
		{answer(codes.Unavailable), false, true},
		{answer(codes.DeadlineExceeded), false, true},
		{answer(codes.Canceled), false, true},
		{errPanicked, false, true},
		{errNoAnswer, false, false},
	}
	for _, test := range tests {
		t.Run(test.err.Error(), func(t *testing.T) {
			require.Equal(t, test.refusal, isRefusal(test.err), "refusal")
			require.Equal(t, test.broken, isBroken(test.err), "broken")
		})
	}
}

func TestAFullDiskIsAnOutageForWriters(t *testing.T) {
	full := status.Error(codes.ResourceExhausted, "The disk of the event store is full; nothing was written")
	require.ErrorIs(t, refused(full), eventlog.ErrUnavailable)
	require.NotErrorIs(t, refused(status.Error(codes.PermissionDenied, "text")), eventlog.ErrUnavailable)
}

// Calls that may have been sent may have been executed.
func TestOnlyUnsentCallsAreUnsent(t *testing.T) {
	unavailable := func(text string) error { return fmt.Errorf("wrapped: %w", status.Error(codes.Unavailable, text)) }
	unsent := []error{
		errUnsent,
		fmt.Errorf("wrapped: %w", errClosed),
		unavailable(`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:2113: connect: connection refused"`),
		unavailable(`connection error: desc = "transport: authentication handshake failed: EOF"`),
		unavailable(`connection error: desc = "error reading server preface: EOF"`),
	}
	for _, err := range unsent {
		require.True(t, isUnsent(err), "%v", err)
	}
	open := []error{
		io.EOF,
		errNoAnswer,
		errPanicked,
		unavailable(`error reading from server: EOF`),
		unavailable(`Server Is Not Ready`),
		status.Error(codes.Unknown, "Error while dialing"),
		status.Error(codes.Aborted, "Operation timed out: Prepare phase timeout"),
	}
	for _, err := range open {
		require.False(t, isUnsent(err), "%v", err)
	}
}

// A failed dial is never a response to a call. A stream is not missing because gossip was not found.
func TestAFailedDialIsNoRefusal(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		return status.Error(codes.NotFound, "no such thing")
	}))
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	log, err := Open(Config{ConnectionString: "esdb+discover://" + listener.Addr().String() + "?tls=false"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	for _, err := range log.ReadStream(t.Context(), "s", 0) {
		require.ErrorIs(t, err, eventlog.ErrUnavailable)
		return
	}
	t.Fatal("a stream was reported as empty without a response")
}

func TestAConflictIsReadFromTheLibrarysText(t *testing.T) {
	tests := map[string]eventlog.Revision{
		"wrong expected version: expecting '3' but got '12'":        12,
		"wrong expected version: expecting '3' but got 'no_stream'": eventlog.NoStream,
		"another text of another release":                           unknownRevision,
	}
	for text, actual := range tests {
		require.Equal(t, &eventlog.ConflictError{Stream: "s", Expected: 3, Actual: actual},
			conflict("s", 3, errors.New(text)))
	}
}

// A server that does not recognise a repetition returns a conflict. The log shows who wrote the events.
func TestAConflictWithOurOwnEarlierTryIsSuccess(t *testing.T) {
	log, err := Open(Config{Socket: nodetest.Start(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	ctx := t.Context()
	proposed := func(n int) []eventlog.Proposed {
		events := make([]eventlog.Proposed, n)
		for i := range events {
			events[i] = eventlog.Proposed{ID: uuid.New(), Type: "log-tested", Data: []byte(`{}`)}
		}
		return events
	}
	ours := proposed(3)
	appended, err := log.Append(ctx, "s", eventlog.NoStream, ours)
	require.NoError(t, err)
	_, err = log.Append(ctx, "s", 2, proposed(2))
	require.NoError(t, err)
	reason := errors.New("expecting 'no_stream' but got '4'")

	t.Run("ours", func(t *testing.T) {
		found, err := log.landed(ctx, "s", eventlog.NoStream, ours, reason)
		require.NoError(t, err)
		require.Equal(t, appended, found)
	})
	for name, events := range map[string][]eventlog.Proposed{
		"another's":          proposed(3),
		"partly ours":        append(ours[:2:2], proposed(1)...),
		"longer than theirs": append(append(ours[:3:3], proposed(2)...), proposed(2)...),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := log.landed(ctx, "s", eventlog.NoStream, events, reason)
			var conflict *eventlog.ConflictError
			require.ErrorAs(t, err, &conflict)
			require.EqualValues(t, 4, conflict.Actual)
		})
	}
	t.Run("undecidable", func(t *testing.T) {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err := log.landed(ended, "s", eventlog.NoStream, ours, reason)
		require.ErrorIs(t, err, context.Canceled)
	})
}
