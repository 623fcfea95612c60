package esdb_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventlog/logtest"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// toxiproxy leaves goroutines of connections that it cut during a transfer.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).write"),
	)
}

func open(t testing.TB, conf esdb.Config) *esdb.Client {
	t.Helper()
	client, err := esdb.Open(conf)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func TestContractOnTheEmbeddedNode(t *testing.T) {
	logtest.Run(t, func(t *testing.T) eventlog.Log {
		return open(t, esdb.Config{Socket: nodetest.Start(t)})
	})
}

// With a connection string, appends are calls of the library.
func TestContractOverTCP(t *testing.T) {
	logtest.Run(t, func(t *testing.T) eventlog.Log {
		dir := nodetest.Dir(t)
		node, err := eventnode.Open(eventnode.Config{Dir: dir, Socket: nodetest.Socket(dir), Address: "127.0.0.1:0"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, node.Close()) })
		return open(t, esdb.Config{ConnectionString: "esdb://" + node.Addr().String() + "?tls=false"})
	})
}

// RECITAL_TEST_EVENTSTORE is the connection string of an EventStoreDB or KurrentDB to test against.
func TestContractOnAServer(t *testing.T) {
	connection := os.Getenv("RECITAL_TEST_EVENTSTORE")
	if connection == "" {
		t.Skip("RECITAL_TEST_EVENTSTORE is not set")
	}
	logtest.Run(t, func(t *testing.T) eventlog.Log {
		return open(t, esdb.Config{ConnectionString: connection})
	})
}
