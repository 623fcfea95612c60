package netconn

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/recital-tts/recital/internal/http/web/quota"
)

// searchPause is the pause after a search that found no idle connection, because a search checks every one.
const searchPause = 20 * time.Millisecond

// connSet is a limited set of connections, with a limited share for each address. When it is full, the longest idle
// ones are evicted.
type connSet struct {
	budget *quota.Budget
	batch  int           // number of evictions by one search, because a search takes a while
	stall  time.Duration // time without input within a request

	evicted atomic.Uint64

	mu    sync.Mutex
	conns map[*Conn]*quota.Claim
	rest  time.Time // no search before
}

func newConnSet(size, share, batch int, stall time.Duration) *connSet {
	return &connSet{
		budget: quota.New(int64(size), int64(share)), batch: batch, stall: stall, conns: map[*Conn]*quota.Claim{},
	}
}

// add adds a connection, and reports whether the limits permit it.
func (s *connSet) add(c *Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	claim, err := s.budget.Take(c.peer, 1)
	if err != nil {
		full := errors.Is(err, quota.ErrFull)
		s.makeRoom(func(other *Conn) bool { return full || other.peer == c.peer })
		claim, err = s.budget.Take(c.peer, 1)
	}
	if err != nil {
		return false
	}
	s.conns[c] = claim
	return true
}

func (s *connSet) leave(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(c)
}

func (s *connSet) remove(c *Conn) {
	if claim := s.conns[c]; claim != nil {
		delete(s.conns, c)
		claim.Release()
	}
}

// evict evicts connections even below the limit, to free other resources.
func (s *connSet) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(func(*Conn) bool { return true })
}

// makeRoom evicts the connections that have been idle for the longest time, if there are any.
func (s *connSet) makeRoom(of func(*Conn) bool) {
	now := time.Now()
	if now.Before(s.rest) {
		return
	}
	var quiet []*Conn
	for c := range s.conns {
		if of(c) && c.quiet(now, s.stall) {
			quiet = append(quiet, c)
		}
	}
	slices.SortFunc(quiet, func(a, b *Conn) int { return int(a.last.Load() - b.last.Load()) })
	left := s.batch
	for _, c := range quiet {
		if left == 0 {
			break
		}
		if c.evict() {
			s.remove(c)
			s.evicted.Add(1)
			left--
		}
	}
	if left == s.batch {
		s.rest = now.Add(searchPause)
	}
}

func (s *connSet) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *connSet) each(f func(*Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		f(c)
	}
}

// gone reports whether the peer has closed the connection or its sending side.
func (c *Conn) gone() bool {
	n, err := c.peek()
	waiting := errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR)
	return n == 0 && err == nil && c.raw != nil || err != nil && !waiting
}

// unread reports whether the peer has sent bytes that have not been read yet.
func (c *Conn) unread() bool {
	n, _ := c.peek()
	return n > 0
}

// peek reads the next byte without consuming it.
func (c *Conn) peek() (n int, err error) {
	if c.raw == nil {
		return 0, nil
	}
	failed := c.raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	if failed != nil {
		return 0, failed
	}
	return n, err
}

// queued returns the number of unacknowledged bytes (tcp(7), SIOCOUTQ), or 0 if it is unknown.
func (c *Conn) queued() (bytes int) {
	if c.raw == nil {
		return 0
	}
	err := c.raw.Control(func(fd uintptr) {
		if n, failed := unix.IoctlGetInt(int(fd), unix.TIOCOUTQ); failed == nil {
			bytes = n
		}
	})
	if err != nil {
		return 0
	}
	return bytes
}
