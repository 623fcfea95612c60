// Package esdbtest opens the log of an event node for tests. It is separate from other test helpers, because few tests
// need a node.
package esdbtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
)

// Open returns the log of the node at the socket, with short pauses during outages. It is closed when the test ends.
func Open(t testing.TB, socket string) *esdb.Client {
	t.Helper()
	client, err := esdb.Open(esdb.Config{Socket: socket, MaxBackOff: 50 * time.Millisecond,
		BreakerPause: 50 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}
