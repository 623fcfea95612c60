package web

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web/netconn"
)

// lifetime is the context of one call. Unlike a context with a timeout it can be extended for a stream, so that work
// started by the handler continues.
type lifetime struct {
	context.Context
	cancel   context.CancelCauseFunc
	deadline atomic.Int64 // Unix nanoseconds
	timer    *time.Timer
	conn     *netconn.Conn
	request  string // its id

	mu    sync.Mutex
	ended bool // its connection may serve another call
}

func begin(ctx context.Context, conn *netconn.Conn, request string, d time.Duration) *lifetime {
	life := &lifetime{conn: conn, request: request}
	life.Context, life.cancel = context.WithCancelCause(ctx)
	life.deadline.Store(time.Now().Add(d).UnixNano())
	life.timer = time.AfterFunc(d, func() { life.cancel(context.DeadlineExceeded) })
	conn.OnEnd((*func(error))(&life.cancel))
	return life
}

// Deadline returns the current deadline.
func (l *lifetime) Deadline() (time.Time, bool) { return time.Unix(0, l.deadline.Load()), true }

// Value returns the id of the request, or a value of the context.
func (l *lifetime) Value(key any) any {
	if key == (requestIDKey{}) {
		return l.request
	}
	return l.Context.Value(key)
}

// extend sets a new deadline, counted from now, unless the old one has passed.
func (l *lifetime) extend(d time.Duration) {
	l.deadline.Store(time.Now().Add(d).UnixNano())
	l.timer.Reset(d)
}

// end releases everything. It may be called again.
func (l *lifetime) end() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.timer.Stop()
	l.conn.OnEnd(nil)
	l.cancel(nil)
}

// cutLater cuts the connection of a call that does not end within closeGrace, because its client does not read.
func (l *lifetime) cutLater() {
	time.AfterFunc(closeGrace, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.ended {
			l.conn.Cut()
		}
	})
}

// why replaces a context's error by its cause: the deadline, the client or the shutdown. A refusal of the domain is
// kept, even if it wraps a context's error: a log that did not respond in time is 503, not 504. Every failure after the
// client has disconnected is attributed to that, except a panic.
func (l *lifetime) why(err error) error {
	cause := context.Cause(l.Context)
	if errors.Is(cause, errClientGone) && !errors.Is(err, errHandlerPanic) {
		return cause
	}
	if domain.CodeOf(err) != "" {
		return err
	}
	if cause != nil && isContextError(err) {
		return cause
	}
	return err
}

// Revocations reports revoked credentials, so that their streams and sockets can end.
type Revocations interface {
	// Watch calls revoked once when the principal's key or session is revoked, or immediately if it already is, unless
	// stop is called before. revoked may be called on any goroutine, also shortly after stop, and must not block.
	Watch(principal Principal, revoked func()) (stop func())
}

// watchStream ends a stream when its credential does: its context and its next Write return the reason, as if the
// client had disconnected. It fails if the credential has already ended.
func (s *Server) watchStream(v *visit) (stop func(), err error) {
	if s.cfg.Revocations == nil || v.Principal.Anonymous() {
		return func() {}, nil
	}
	stop = s.cfg.Revocations.Watch(v.Principal, func() {
		v.life.cancel(v.Principal.ended())
		v.life.cutLater()
	})
	if ended := context.Cause(v.life); isRevocation(ended) {
		stop()
		return nil, ended
	}
	return stop, nil
}

// ended returns the error that ends the principal's streams and sockets when its credential ends.
func (p Principal) ended() error {
	if p.Session != "" {
		return errSessionOver
	}
	return errRevoked
}

func isRevocation(err error) bool {
	return errors.Is(err, errRevoked) || errors.Is(err, errSessionOver)
}
