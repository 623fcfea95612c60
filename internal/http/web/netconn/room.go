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

// searchPause is the pause after a search that found no quiet connection, because a search looks at every one.
const searchPause = 20 * time.Millisecond

// room is a number of connections, of which each address has a share. Where it is full, the quietest ones make room.
type room struct {
	seats *quota.Budget
	batch int           // number closed by one search, because a search takes a while
	stall time.Duration // silence of a peer in the middle of a request

	evicted atomic.Uint64

	mu    sync.Mutex
	conns map[*Conn]*quota.Claim
	rest  time.Time // no search before
}

func newRoom(size, share, batch int, stall time.Duration) *room {
	return &room{seats: quota.New(int64(size), int64(share)), batch: batch, stall: stall, conns: map[*Conn]*quota.Claim{}}
}

// enter takes a connection in, and reports whether there was room.
func (r *room) enter(c *Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	seat, err := r.seat(c)
	if err != nil {
		full := errors.Is(err, quota.ErrFull)
		r.makeRoom(func(other *Conn) bool { return full || other.peer == c.peer })
		seat, err = r.seat(c)
	}
	if err != nil {
		return false
	}
	r.conns[c] = seat
	return true
}

func (r *room) seat(c *Conn) (*quota.Claim, error) {
	if c.shared {
		return r.seats.TakeShared(1)
	}
	return r.seats.Take(c.peer, 1)
}

func (r *room) leave(c *Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(c)
}

func (r *room) remove(c *Conn) {
	if seat := r.conns[c]; seat != nil {
		delete(r.conns, c)
		seat.Release()
	}
}

// yield makes room though there may be some, for want of something else.
func (r *room) yield() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.makeRoom(func(*Conn) bool { return true })
}

// makeRoom closes the connections that have been quiet for the longest time, if there are any.
func (r *room) makeRoom(of func(*Conn) bool) {
	now := time.Now()
	if now.Before(r.rest) {
		return
	}
	var quiet []*Conn
	for c := range r.conns {
		if of(c) && c.quiet(now, r.stall) {
			quiet = append(quiet, c)
		}
	}
	slices.SortFunc(quiet, func(a, b *Conn) int { return int(a.last.Load() - b.last.Load()) })
	left := r.batch
	for _, c := range quiet {
		if left == 0 {
			break
		}
		if c.evict() {
			r.remove(c)
			r.evicted.Add(1)
			left--
		}
	}
	if left == r.batch {
		r.rest = now.Add(searchPause)
	}
}

func (r *room) open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns)
}

func (r *room) each(f func(*Conn)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		f(c)
	}
}

// gone reports whether the peer has closed the connection, or its sending side.
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

// peek looks at the next byte without taking it.
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

// queued returns the number of unacknowledged bytes (tcp(7), SIOCOUTQ), 0 if it is unknown.
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
