package esdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// supervisor keeps one good connection: it dials on demand, once for all who wait, and replaces a retired connection.
type supervisor struct {
	conf   es.Configuration
	logger *slog.Logger

	mu      sync.Mutex
	current *dialling
	closed  bool
	running sync.WaitGroup // dials and calls
}

// dialling is a dial, under way or done.
type dialling struct {
	done chan struct{}
	conn *connection // when done
	err  error       // when done
}

var (
	errUnsent = errors.New("nothing was sent to the event store")
	errClosed = errors.New("the client of the event store is closed")
)

// begin starts a call on a good connection; see connection.begin.
func (s *supervisor) begin(ctx context.Context) (conn *connection, call context.Context, done func(), err error) {
	for {
		d, err := s.dialling()
		if err != nil {
			return nil, nil, nil, err
		}
		select {
		case <-d.done:
		case <-ctx.Done():
			return nil, nil, nil, errUnsent
		}
		if d.err != nil {
			return nil, nil, nil, fmt.Errorf("%w: %w", errUnsent, d.err)
		}
		if call, done, ok := d.conn.begin(ctx); ok {
			return d.conn, call, done, nil
		}
	}
}

// dialling gives the current dial, and begins another when it led nowhere or to a connection that is retired.
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
	conn, err := dial(s.conf, s.logger)
	s.mu.Lock()
	d.conn, d.err = conn, err
	close(d.done)
	late := s.closed && conn != nil
	s.mu.Unlock()
	if late {
		conn.retire()
	}
}

// spawn runs f in a goroutine that close waits for. It is false after close.
func (s *supervisor) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Go(f)
	return true
}

// close refuses further calls. wait waits for those under way, whose contexts the caller has ended.
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
