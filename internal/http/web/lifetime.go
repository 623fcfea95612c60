package web

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web/netconn"
)

// lifetime is the context of one call. Unlike a context with a timeout it can be given more time, which a handler's
// reply needs when it is a stream: what the handler started under the call's context goes on.
type lifetime struct {
	context.Context
	cancel   context.CancelCauseFunc
	deadline atomic.Int64 // Unix nanoseconds
	timer    *time.Timer
	conn     *netconn.Conn
	request  string // its id
}

func begin(ctx context.Context, conn *netconn.Conn, request string, d time.Duration) *lifetime {
	life := &lifetime{conn: conn, request: request}
	life.Context, life.cancel = context.WithCancelCause(ctx)
	life.deadline.Store(time.Now().Add(d).UnixNano())
	life.timer = time.AfterFunc(d, func() { life.cancel(context.DeadlineExceeded) })
	end := func(cause error) { life.cancel(cause) }
	conn.OnEnd(&end)
	return life
}

// Deadline is the present deadline.
func (l *lifetime) Deadline() (time.Time, bool) { return time.Unix(0, l.deadline.Load()), true }

// Value has the id of the request beside what the context has.
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
	l.timer.Stop()
	l.conn.OnEnd(nil)
	l.cancel(nil)
}

// why replaces an error that only says "canceled" by its cause: the deadline, the client or the shutdown. A refusal of the
// domain stays, even when a context ended beneath it: a log that did not answer in time is 503, not 504. Whatever fails
// when the client has gone fails for that reason, panics excepted.
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
