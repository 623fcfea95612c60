// Package esdb implements the event log with EventStoreDB or KurrentDB, using EventStoreDB's own client library, or
// with the embedded node. The library closes itself permanently when the server is briefly unavailable, blocks callers
// regardless of their contexts and never resumes a subscription. This package shields callers from these defects:
//
//   - connection: a server or the node on one connection, which is retired after its first failure
//   - supervisor: dials a connection on demand
//   - call: limits a call by its context, repeats it, and refuses calls during a long outage
//   - outage: detects an outage, with small periodic reads, and measures its duration
//   - append, read, subscribe: the operations of eventlog.Log
//   - library: these operations on a server
//   - node, batch: the same on the embedded node, without the library, all appends on one call
package esdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/circuit"
)

// Client is an eventlog.Log. It is safe for concurrent use and survives outages of the event store.
type Client struct {
	conf       Config
	supervisor *supervisor
	breaker    *circuit.Breaker
	slots      chan struct{}
	outage     outage

	wantsLeader bool // false for the embedded node, which has no cluster

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
	// In addition to its own attempt, a call may wait in the library, which ignores contexts there, for a connection to
	// the leader and for two requests that find the leader.
	gossip := time.Duration(library.GossipTimeout) * time.Second
	c := &Client{
		conf:       conf,
		supervisor: &supervisor{conf: library, grace: conf.AttemptTimeout + 3*gossip, logger: conf.Logger},
		breaker:    circuit.New("the event store", conf.BreakerPause, conf.Logger),
		slots:      make(chan struct{}, conf.MaxInFlight),

		wantsLeader: conf.Socket == "",
	}
	c.closing, c.close = context.WithCancel(context.Background())
	c.supervisor.spawn(c.beat)
	return c, nil
}

// Close ends all calls and subscriptions with eventlog.ErrUnavailable and waits for them. It may be called several
// times.
func (c *Client) Close() error {
	c.close()
	c.supervisor.close()
	return nil
}

// Config configures the client. Either ConnectionString or Socket is required. Zero values of the other fields mean
// their defaults.
type Config struct {
	ConnectionString string // esdb://… or esdb+discover://… of an EventStoreDB or KurrentDB
	Socket           string // path of the embedded node's unix socket
	Logger           *slog.Logger

	AttemptTimeout time.Duration // of an append or of a page of a read; default 5 s
	BreakerPause   time.Duration // pause without attempts after repeated failures; default 500 ms
	MaxBackOff     time.Duration // longest pause between two attempts; default 1 s
	// duration of an outage after which calls are refused, longer than an election; default 5 s
	Patience time.Duration
	// interval of beats, the small reads that detect an outage; default 500 ms
	BeatEvery   time.Duration
	BeatTimeout time.Duration // of a beat, after which all calls leave its connection; default 1.5 s

	MaxAppendBytes int // data, metadata and types of an append; default 1 MiB, as in EventStoreDB
	MaxInFlight    int // concurrent calls, further ones wait; default 1,024
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.AttemptTimeout = cmp.Or(c.AttemptTimeout, 5*time.Second)
	c.BreakerPause = cmp.Or(c.BreakerPause, 500*time.Millisecond)
	c.MaxBackOff = cmp.Or(c.MaxBackOff, time.Second)
	c.Patience = cmp.Or(c.Patience, 5*time.Second)
	c.BeatEvery = cmp.Or(c.BeatEvery, 500*time.Millisecond)
	c.BeatTimeout = cmp.Or(c.BeatTimeout, 1500*time.Millisecond)
	c.MaxAppendBytes = cmp.Or(c.MaxAppendBytes, 1<<20)
	c.MaxInFlight = cmp.Or(c.MaxInFlight, 1024)
	return c
}

// forLibrary returns the library's configuration for one connection.
func (c Config) forLibrary() (es.Configuration, error) {
	conf, err := c.address()
	if err != nil {
		return es.Configuration{}, err
	}
	// One round of discovery per connection: the library's own repetition blocks callers regardless of their contexts. The
	// supervisor repeats it instead.
	conf.MaxDiscoverAttempts = 1
	conf.DiscoveryInterval = 1
	// Do not wait for an unresponsive node longer than the next election takes.
	if conf.GossipTimeout == 5 {
		conf.GossipTimeout = 3
	}
	// A dead peer is detected after the interval plus the timeout. gRPC raises the interval to at least 10 s.
	if c.Socket == "" && conf.KeepAliveTimeout == 10*time.Second {
		conf.KeepAliveTimeout = 5 * time.Second
	}
	return conf, nil
}

// unixScheme begins the address of a unix socket.
const unixScheme = "unix://"

func (c Config) address() (es.Configuration, error) {
	switch {
	case (c.ConnectionString == "") == (c.Socket == ""):
		return es.Configuration{}, errors.New("the event store needs either a connection string or a socket")
	case c.Socket != "":
		// A connection string cannot contain a socket, but the library's address can.
		return es.Configuration{
			Address:             unixScheme + c.Socket,
			DisableTLS:          true,
			GossipTimeout:       5,
			KeepAliveInterval:   -1,
			NodePreference:      es.NodePreferenceLeader,
			MaxDiscoverAttempts: 1,
		}, nil
	}
	conf, err := es.ParseConnectionString(c.ConnectionString)
	if err != nil {
		// The parser's error quotes the string, including the password.
		return es.Configuration{}, errors.New("the connection string of the event store is malformed")
	}
	if err := conf.Validate(); err != nil {
		return es.Configuration{}, err
	}
	if conf.NodePreference != es.NodePreferenceLeader {
		return es.Configuration{}, fmt.Errorf("nodePreference=%s is refused: any node but the leader may answer from a "+
			"copy that is behind; leave it out", conf.NodePreference)
	}
	return *conf, nil
}
