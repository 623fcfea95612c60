package web

import (
	"context"
	"fmt"
	"time"

	"github.com/recital-tts/recital/internal/http/web/netconn"
)

const (
	drainPause = 10 * time.Millisecond
	// cutGrace is what handlers get to notice that their call has ended.
	cutGrace = 2 * time.Second
)

// Draining reports whether Drain has been called.
func (s *Server) Draining() bool { return s.draining.Load() }

// Leave makes clients go elsewhere: requests are served as before, and each reply closes its connection.
func (s *Server) Leave() { s.leaving.Store(true) }

// StartDraining refuses new requests with 503, except on routes with WhileDraining, closes Conn.Draining, and returns at
// once.
func (s *Server) StartDraining() {
	s.draining.Store(true)
	s.drainOnce.Do(func() { close(s.drained) })
}

// Drain refuses new requests and returns when the running ones have ended, or with ctx's error. Requests of routes
// with WhileDraining are not waited for, so a handler of such a route may call it.
func (s *Server) Drain(ctx context.Context) error {
	s.StartDraining()
	if err := waitUntil(ctx, func() bool { return s.busy.Load() == 0 }); err != nil {
		return fmt.Errorf("draining: %d requests are running: %w", s.busy.Load(), err)
	}
	return nil
}

// Shutdown stops accepting, drains, and returns when all connections are closed. What still runs when ctx ends is cut,
// so that its client sees an error; the error then is ctx's.
func (s *Server) Shutdown(ctx context.Context) error {
	s.StartDraining()
	defer s.stopOnce.Do(func() { close(s.stop) })
	listener := s.listener.Load()
	if listener == nil {
		return nil
	}
	listener.Close()
	empty := func() bool {
		listener.CloseIdle()
		return listener.Open() == 0
	}
	err := waitUntil(ctx, empty)
	if err != nil {
		err = fmt.Errorf("shutting down: %d connections had to be cut: %w", listener.Open(), err)
		s.cut(listener)
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutGrace)
		defer cancel()
		_ = waitUntil(late, empty) // a handler that ignores its context cannot be waited for
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutGrace)
	defer cancel()
	if closing := s.app.Server().ShutdownWithContext(last); closing != nil && err == nil {
		s.log.Warn("connections were left behind at shutdown", "error", closing)
	}
	return err
}

// cut ends all calls and resets their connections.
func (s *Server) cut(listener *netconn.Listener) {
	listener.Each(func(c *netconn.Conn) { c.End(errShutdown) })
	listener.CutAll()
}

func waitUntil(ctx context.Context, done func() bool) error {
	ticker := time.NewTicker(drainPause)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}
