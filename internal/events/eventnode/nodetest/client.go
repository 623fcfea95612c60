package nodetest

import (
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// patience bounds a call on a busy machine; nothing is timed.
const patience = time.Minute

// Configuration returns the configuration of a client of the node at the socket. The connection string does not
// support socket paths, so the address is set afterwards.
func Configuration(t testing.TB, socket string) *esdb.Configuration {
	t.Helper()
	configuration, err := esdb.ParseConnectionString("esdb://localhost?tls=false")
	if err != nil {
		t.Fatalf("parsing the connection string: %v", err)
	}
	configuration.Address = "unix://" + socket
	configuration.Logger = esdb.NoopLogging()
	deadline := patience // the client's own is 10 s
	configuration.DefaultDeadline = &deadline
	return configuration
}

// Client returns a client of the node at the socket, closed when the test ends.
func Client(t testing.TB, socket string) *esdb.Client {
	t.Helper()
	client, err := esdb.NewClient(Configuration(t, socket))
	if err != nil {
		t.Fatalf("making a client of the event node: %v", err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("closing the client of the event node: %v", err)
		}
	})
	return client
}
