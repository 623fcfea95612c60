// Package nodetest starts event nodes for tests.
package nodetest

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventnode"
)

// Start runs a node with an empty log until the test ends, and returns the path of its unix socket.
func Start(t testing.TB) string {
	t.Helper()
	return StartIn(t, Dir(t))
}

// StartIn runs a node on the log in dir until the test ends, and returns the path of its unix socket.
func StartIn(t testing.TB, dir string) string {
	t.Helper()
	node := Open(t, dir)
	t.Cleanup(func() { assert.NoError(t, node.Close()) })
	return Socket(dir)
}

// Open opens a node on the log in dir, which the caller has to close. Its socket is Socket(dir).
func Open(t testing.TB, dir string) *eventnode.Node {
	t.Helper()
	node, err := eventnode.Open(eventnode.Config{
		Dir:    filepath.Join(dir, "log"),
		Socket: Socket(dir),
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return node
}

// Dir creates a private folder whose path is short enough for a socket, and removes it when the test ends.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "node")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// Socket returns the path of the socket of a node opened in dir.
func Socket(dir string) string { return filepath.Join(dir, "socket") }

// patience limits a call on a busy machine. It is not a measurement.
const patience = time.Minute

// Configuration returns the configuration of a client of the node at the socket. A connection string cannot contain the
// path of a socket, so the address is set afterwards.
func Configuration(t testing.TB, socket string) *esdb.Configuration {
	t.Helper()
	configuration, err := esdb.ParseConnectionString("esdb://localhost?tls=false")
	require.NoError(t, err)
	configuration.Address = "unix://" + socket
	configuration.Logger = esdb.NoopLogging()
	deadline := patience // the client's default is 10 s
	configuration.DefaultDeadline = &deadline
	return configuration
}

// Client returns a client of the node at the socket, closed when the test ends.
func Client(t testing.TB, socket string) *esdb.Client {
	t.Helper()
	client, err := esdb.NewClient(Configuration(t, socket))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}
