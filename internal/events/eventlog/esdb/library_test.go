package esdb

import (
	"errors"
	"net"
	"sync"
	"testing"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// serve returns the address of a gRPC server that answers every call with a status.
func serve(t *testing.T, answer func(grpc.ServerStream) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error { return answer(stream) }))
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return listener.Addr().String()
}

// messages collects the library's log messages by their formats.
type messages struct {
	mu   sync.Mutex
	args map[string][]any
}

func (m *messages) take(_ es.LogLevel, format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.args == nil {
		m.args = map[string][]any{}
	}
	m.args[format] = args
}

func (m *messages) argsOf(format string) []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.args[format]
}

// newLibrary returns a client of the library itself.
func newLibrary(t *testing.T, address string, log *messages) *es.Client {
	t.Helper()
	conf, err := es.ParseConnectionString("esdb://" + address + "?tls=false&maxDiscoverAttempts=1")
	require.NoError(t, err)
	conf.Logger = log.take
	client, err := es.NewClient(conf)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() }) // always nil
	return client
}

// isFeatures reports whether a call requests the server's features, which the library does when it connects.
func isFeatures(stream grpc.ServerStream) bool {
	method, _ := grpc.MethodFromServerStream(stream)
	return method == "/event_store.client.server_features.ServerFeatures/GetSupportedMethods"
}

// The supervisor depends on two messages of the library. If a release changes their texts, the workarounds fail.
func TestTheTextsOfTheLibraryThatSteerTheSupervisor(t *testing.T) {
	t.Run("a call that finds its connection unavailable", func(t *testing.T) {
		address := serve(t, func(stream grpc.ServerStream) error {
			if isFeatures(stream) {
				return status.Error(codes.Unimplemented, "none")
			}
			return status.Error(codes.Unavailable, "Server Is Not Ready")
		})
		var log messages
		client := newLibrary(t, address, &log)
		events, err := client.ReadStream(t.Context(), "s", es.ReadStreamOptions{}, 1)
		if err == nil {
			_, err = events.Recv()
			events.Close()
		}
		require.Error(t, err)
		args := log.argsOf(failureReport)
		require.Len(t, args, 1, "nothing was logged with the format %q", failureReport)
		failure, ok := args[0].(error)
		require.True(t, ok)
		require.Equal(t, codes.Unavailable, status.Code(failure))
	})
	t.Run("a node that names the leader", func(t *testing.T) {
		leader := serve(t, func(grpc.ServerStream) error { return status.Error(codes.Unimplemented, "none") })
		host, port, err := net.SplitHostPort(leader)
		require.NoError(t, err)
		address := serve(t, func(stream grpc.ServerStream) error {
			if isFeatures(stream) {
				return status.Error(codes.Unimplemented, "none")
			}
			stream.SetTrailer(metadata.Pairs("exception", "not-leader", "leader-endpoint-host", host, "leader-endpoint-port",
				port))
			return status.Error(codes.NotFound, "Leader info available")
		})
		var log messages
		client := newLibrary(t, address, &log)
		events, err := client.ReadStream(t.Context(), "s", es.ReadStreamOptions{}, 1)
		if err == nil {
			_, err = events.Recv()
			events.Close()
		}
		var failure *es.Error
		require.True(t, errors.As(err, &failure), "%v", err)
		require.Equal(t, es.ErrorCodeNotLeader, failure.Code())
		_, err = client.GetServerVersion() // it waits until the library has gone to the leader
		require.NoError(t, err)
		require.Equal(t, []any{leader}, log.argsOf(redirectReport), "nothing was logged with the format %q", redirectReport)
	})
}

// answering returns a log with a server that answers calls of the streams with a status, as EventStoreDB does.
func answering(t *testing.T, code codes.Code, text string, trailer ...string) *Client {
	t.Helper()
	address := serve(t, func(stream grpc.ServerStream) error {
		if isFeatures(stream) {
			return status.Error(codes.Unimplemented, "none")
		}
		stream.SetTrailer(metadata.Pairs(trailer...))
		return status.Error(code, text)
	})
	log, err := Open(Config{ConnectionString: "esdb://" + address + "?tls=false"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	return log
}

// Errors that waiting cannot fix are returned immediately, with advice.
func TestMissingRightsAreReported(t *testing.T) {
	t.Run("reading $all", func(t *testing.T) {
		log := answering(t, codes.PermissionDenied, "Access Denied", "exception", "access-denied")
		_, err := log.Head(t.Context())
		require.ErrorContains(t, err, `may not read $all`)
		require.ErrorContains(t, err, `{"$acl":{"$r":["$admins","USER"]}}`)
		subscription := log.Subscribe(t.Context(), eventlog.Start())
		for range subscription.Deliveries() {
			continue
		}
		require.ErrorContains(t, subscription.Err(), `may not read $all`)
	})
	t.Run("a wrong password", func(t *testing.T) {
		log := answering(t, codes.Unauthenticated, "Authentication failed")
		_, err := log.Head(t.Context())
		require.ErrorContains(t, err, "user name or the password")
	})
	t.Run("another stream", func(t *testing.T) {
		log := answering(t, codes.PermissionDenied, "Access Denied", "exception", "access-denied")
		for _, err := range log.ReadStream(t.Context(), "s", 0) {
			require.ErrorContains(t, err, "lacks a right")
			require.NotContains(t, err.Error(), "$all")
		}
	})
}
