package esdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// supervisor maintains one good connection: it dials on demand, once for all waiting calls, and replaces a retired
// connection.
type supervisor struct {
	conf   es.Configuration
	grace  time.Duration // of a connection
	logger *slog.Logger

	mu      sync.Mutex
	current *dialling
	leader  string // address of the leader according to a node; the next dial tries it first
	failure string // of the last dial, as it was logged
	closed  bool
	running sync.WaitGroup // dials and calls
}

// dialling is a dial, in progress or done.
type dialling struct {
	done chan struct{}
	conn *connection // when done
	err  error       // when done
}

var (
	errUnsent = errors.New("nothing was sent to the event store")
	errClosed = errors.New("the client of the event store is closed")
)

// begin starts a call on a good connection. The call ends with the connection's done.
func (s *supervisor) begin(ctx context.Context) (*connection, error) {
	for {
		d, err := s.dialling()
		if err != nil {
			return nil, err
		}
		select {
		case <-d.done:
		case <-ctx.Done():
			return nil, errUnsent
		}
		if d.err != nil {
			// Its codes are not passed on: they are not answers to the call.
			return nil, fmt.Errorf("%w: %v", errUnsent, d.err)
		}
		if d.conn.begin() {
			return d.conn, nil
		}
	}
}

// dialling returns the current dial, and begins another if it failed or its connection is retired.
func (s *supervisor) dialling() (*dialling, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.current != nil && s.current.promising() {
		return s.current, nil
	}
	d := &dialling{done: make(chan struct{})}
	s.current = d
	s.running.Go(func() { s.dial(d) })
	return d, nil
}

func (d *dialling) promising() bool {
	select {
	case <-d.done:
		return d.err == nil && d.conn.retired.Err() == nil
	default:
		return true
	}
}

func (s *supervisor) dial(d *dialling) {
	conn, err := s.connect()
	s.mu.Lock()
	d.conn, d.err = conn, err
	close(d.done)
	late := s.closed && conn != nil
	s.tell(err)
	s.mu.Unlock()
	if late {
		conn.retire()
	}
}

// connect connects to the leader that a node has named. If that fails, it uses the configured addresses: another
// leader may be known there by now.
func (s *supervisor) connect() (*connection, error) {
	s.mu.Lock()
	leader := s.leader
	s.leader = ""
	s.mu.Unlock()
	if leader != "" {
		if conn, err := dial(atNode(s.conf, leader), s.grace, s.redirected, s.logger); err == nil {
			return conn, nil
		}
	}
	return dial(s.conf, s.grace, s.redirected, s.logger)
}

func atNode(conf es.Configuration, address string) es.Configuration {
	conf.Address, conf.GossipSeeds, conf.DnsDiscover = address, nil, false
	return conf
}

func (s *supervisor) redirected(leader string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leader = leader
}

// tell logs why the event store cannot be reached, once per reason.
func (s *supervisor) tell(err error) {
	failure := ""
	if err != nil {
		failure = undialled(err, s.conf.DisableTLS)
	}
	if failure != "" && failure != s.failure {
		s.logger.Warn("the event store cannot be reached", "error", failure)
	}
	s.failure = failure
}

// unreachable returns why the last dial failed, "" if it did not.
func (s *supervisor) unreachable() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// spawn runs f in a goroutine that close waits for. It returns false after close.
func (s *supervisor) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Go(f)
	return true
}

// close refuses further calls. wait waits for those in progress, whose contexts the caller has ended.
func (s *supervisor) close() {
	s.mu.Lock()
	s.closed = true
	current := s.current
	s.mu.Unlock()
	if current == nil {
		return
	}
	select {
	case <-current.done:
		if current.conn != nil {
			current.conn.retire()
		}
	default: // dial will retire it
	}
}

func (s *supervisor) wait() { s.running.Wait() }
