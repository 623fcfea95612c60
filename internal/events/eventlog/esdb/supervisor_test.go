package esdb

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// A follower may name a leader that cannot be reached. The next connection uses the configured addresses.
func TestALeaderOutOfReachIsTriedOnce(t *testing.T) {
	dir := nodetest.Dir(t)
	node, err := eventnode.Open(eventnode.Config{Dir: dir, Socket: nodetest.Socket(dir), Address: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())

	log, err := Open(Config{ConnectionString: "esdb://" + node.Addr().String() + "?tls=false"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	log.supervisor.redirected(gone.Addr().String())

	position, err := log.Head(context.Background())
	require.NoError(t, err)
	require.Equal(t, eventlog.Start(), position)
	require.Empty(t, log.supervisor.leader)
}
