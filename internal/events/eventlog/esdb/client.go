// Package esdb implements the event log on EventStoreDB, KurrentDB or the embedded node, with EventStoreDB's own
// client library. The library closes itself permanently when the node is briefly unavailable, blocks callers
// regardless of their contexts and never resumes a subscription; this package shields callers from that:
//
//   - connection: one client of the library, retired at its first failure
//   - supervisor: dials a new one on demand
//   - call: bounds every call by its context, repeats it, and refuses quickly once an outage has lasted
//   - outage: knows since when the event store has not answered, by small reads of its own if nobody calls
//   - append, read, subscribe: the operations of eventlog.Log
package esdb

import (
	"context"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Client is an eventlog.Log. It is safe for concurrent use and survives outages of the event store.
type Client struct {
	conf       Config
	supervisor *supervisor
	breaker    *gobreaker.TwoStepCircuitBreaker[any]
	slots      chan struct{}
	outage     outage

	wantsLeader bool // one node is the leader of itself and knows nothing of it

	closing context.Context // ends with Close
	close   context.CancelFunc
}

var _ eventlog.Log = (*Client)(nil)

// Open returns a client. It does not wait for the event store.
func Open(conf Config) (*Client, error) {
	conf = conf.withDefaults()
	library, err := conf.forLibrary()
	if err != nil {
		return nil, fmt.Errorf("opening the event log: %w", err)
	}
	// Beside its own attempt, a call may wait in the library, which ignores contexts there: for a connection to the
	// leader, and for two requests to find it.
	gossip := time.Duration(library.GossipTimeout) * time.Second
	c := &Client{
		conf:       conf,
		supervisor: &supervisor{conf: library, grace: conf.AttemptTimeout + 3*gossip, logger: conf.Logger},
		breaker:    newBreaker(conf),
		slots:      make(chan struct{}, conf.MaxInFlight),

		wantsLeader: conf.Socket == "",
	}
	c.closing, c.close = context.WithCancel(context.Background())
	c.supervisor.spawn(c.beat)
	return c, nil
}

// Close ends every call and subscription with eventlog.ErrUnavailable and waits for them. Closing again does nothing.
func (c *Client) Close() error {
	c.close()
	c.supervisor.close()
	c.supervisor.wait()
	return nil
}
