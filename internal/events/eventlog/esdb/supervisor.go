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

// supervisor maintains one good connection. It dials on demand, once for all waiting calls, and replaces a retired
// connection.
type supervisor struct {
	conf   es.Configuration
	grace  time.Duration // passed to each connection
	logger *slog.Logger

	mu      sync.Mutex
	current *dialling
	leader  string // address of the leader that a node named; tried first by the next dial
	failure string // reason of the last dial's failure, or ""
	closed  bool
	running sync.WaitGroup // dials and calls
}

// dialling is a dial that is running or done.
type dialling struct {
	done chan struct{}
	conn *connection // set when done
	err  error       // set when done
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
			// %v hides the dial's codes, which are not responses to the call
			return nil, fmt.Errorf("%w: %v", errUnsent, d.err)
		}
		if d.conn.begin() {
			return d.conn, nil
		}
	}
}

// dialling returns the current dial. If it failed or its connection is retired, it starts another one.
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
	if conn != nil && conn.watch != nil {
		s.running.Go(func() {
			conn.watch()
			conn.retire()
		})
	}
	late := s.closed && conn != nil
	s.report(err)
	s.mu.Unlock()
	if late {
		conn.retire()
	}
}

// connect connects to the leader that a node named. If that fails, it uses the configured addresses, where another
// leader may be known by now.
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

// report logs why the event store cannot be reached, unless the reason is the same as last time.
func (s *supervisor) report(err error) {
	failure := ""
	if err != nil {
		failure = undialled(err, s.conf.DisableTLS)
	}
	if failure != "" && failure != s.failure {
		s.logger.Warn("the event store cannot be reached", "error", failure)
	}
	s.failure = failure
}

// unreachable returns the reason why the last dial failed, or "" if it succeeded.
func (s *supervisor) unreachable() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// spawn runs f in a goroutine that wait waits for. It returns false after close.
func (s *supervisor) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Go(f)
	return true
}

// during runs f, and wait waits for it. It returns false after close.
func (s *supervisor) during(f func()) bool {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	f()
	return true
}

// close refuses further calls, and waits for the running ones, whose contexts the caller has ended.
func (s *supervisor) close() {
	defer s.running.Wait()
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
	default: // dial will retire the connection
	}
}
