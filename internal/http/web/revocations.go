package web

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/recital-tts/recital/internal/http/web/netconn"
)

// Revocations reports revoked credentials, so that what they have opened can end.
type Revocations interface {
	// Watch calls revoked once when the principal's key or session is revoked, at once when it is already, unless stop
	// is called before. It may be called on any goroutine, also after stop when both happen at the same time, and must
	// not block.
	Watch(principal Principal, revoked func()) (stop func())
}

// watchStream has a stream end with the credential that it was asked for with: like a client that hangs up, its writer
// learns of it by its context, and by its next Write. It fails when the credential has ended already.
func (s *Server) watchStream(v *visit) (stop func(), err error) {
	if s.cfg.Revocations == nil || v.Principal.Anonymous() {
		return func() {}, nil
	}
	l := &leash{life: v.life, conn: connOf(v.http), cause: v.Principal.ended()}
	forget := s.cfg.Revocations.Watch(v.Principal, l.pull)
	stop = func() {
		forget()
		l.loosen()
	}
	if ended := context.Cause(v.life); isRevocation(ended) {
		stop()
		return nil, ended
	}
	return stop, nil
}

// ended is why what the principal has opened ends when its credential does.
func (p Principal) ended() error {
	if p.Session != "" {
		return errSessionOver
	}
	return errRevoked
}

func isRevocation(err error) bool {
	return errors.Is(err, errRevoked) || errors.Is(err, errSessionOver)
}

// leash ends a stream. Once the stream has ended, its connection may serve others, and is left alone.
type leash struct {
	life  *lifetime
	conn  *netconn.Conn // nil when it is none of netconn's
	cause error         // of the end

	mu      sync.Mutex
	loose   bool
	cutting *time.Timer
}

// pull ends the stream, and cuts its connection when that does not help: the client takes nothing.
func (l *leash) pull() {
	l.life.cancel(l.cause)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.loose && l.conn != nil {
		l.cutting = time.AfterFunc(closeGrace, l.cut)
	}
}

func (l *leash) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.loose {
		l.conn.Cut()
	}
}

func (l *leash) loosen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loose = true
	if l.cutting != nil {
		l.cutting.Stop()
	}
}
