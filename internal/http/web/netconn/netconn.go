// Package netconn wraps a listener to limit the number of connections, in total and by address, and to enforce a
// minimum rate of sending and receiving. Connections can be closed when idle, cut, and closed so that a peer that is
// still sending receives the last reply. They also detect that the peer has disconnected.
package netconn

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/recital-tts/recital/internal/http/web/quota"
)

// Limits of the lingering close. Input after a refusal is read and discarded up to these limits. They suffice for
// clients that read the answer only after sending their whole request.
const (
	lingerBytes = 256 << 20
	lingerTotal = 5 * time.Second
	lingerPause = time.Second
)

// writePiece is the number of bytes that a peer must accept within one write timeout. It is checked after each half.
const writePiece = 64 << 10

// Limits of the connections beyond the usual limit. They suffice for health checks, and for refusing other requests
// with a response.
const (
	extraConnections = 64
	extraShare       = extraConnections / 2
	extraStall       = time.Second
)

// requestStall is the time without input within a request after which its connection may be evicted.
const requestStall = 5 * time.Second

// acceptPause is the time for other parts of the process to close files when none are left.
const acceptPause = 10 * time.Millisecond

// ErrGone is the cause that ends a call when its peer has closed the connection.
var ErrGone = errors.New("the client has gone")

// Limits are the limits of peers. None of the numbers may be zero.
type Limits struct {
	Connections        int           // concurrently open
	AddressConnections int           // the same of one address
	Grace              time.Duration // for a request's body, before Rate counts
	Longest            time.Duration // for a whole body
	WriteTimeout       time.Duration // in which a peer must accept 64 KiB
	// Shared reports whether a peer is a proxy for many clients, which AddressConnections does not limit. Nil means that
	// there are none.
	Shared func(netip.Addr) bool
	Rate   int // in bytes a second: a body that comes slower is ended, and so is a write that is taken slower
}

// Listener accepts connections of type *Conn.
type Listener struct {
	net.Listener
	limits Limits
	sets   []*connSet // the usual set, and a small one beyond its limit

	refused atomic.Uint64

	closeOnce sync.Once
	closed    error
}

// Close stops accepting. It may be called again: both Shutdown and fasthttp close the listener.
func (l *Listener) Close() error {
	l.closeOnce.Do(func() { l.closed = l.Listener.Close() })
	return l.closed
}

// Listen wraps a listener.
func Listen(ln net.Listener, limits Limits) *Listener {
	return &Listener{Listener: ln, limits: limits, sets: []*connSet{
		newConnSet(limits.Connections, limits.AddressConnections, 1+limits.AddressConnections/64, requestStall),
		newConnSet(extraConnections, extraShare, 1, extraStall),
	}}
}

// Accept waits for the next connection. Over a limit, the longest idle ones are evicted. If none is idle, the new
// connection is Extra, or closed if there are too many of these, too.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		switch {
		case err == nil:
			if c := l.wrap(inner); l.add(c) {
				return c, nil
			}
			l.refused.Add(1)
			inner.Close()
		case outOfFiles(err):
			l.sets[0].evict()
			time.Sleep(acceptPause)
		default:
			return nil, err // the server recognises a closed listener by the error's text
		}
	}
}

// outOfFiles reports whether the process or the machine temporarily has no file left for a connection (accept(2)).
func outOfFiles(err error) bool {
	for _, passing := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

func (l *Listener) wrap(inner net.Conn) *Conn {
	c := &Conn{Conn: inner, listener: l}
	if address := quota.Address(inner.RemoteAddr()); l.limits.Shared == nil || !l.limits.Shared(address) {
		c.peer = quota.Client(address)
	}
	c.last.Store(time.Now().UnixNano())
	if sys, ok := inner.(syscall.Conn); ok {
		c.raw, _ = sys.SyscallConn()
	}
	return c
}

func (l *Listener) add(c *Conn) bool {
	for _, s := range l.sets {
		c.set = s
		if s.add(c) {
			return true
		}
	}
	return false
}

// Open returns the number of open connections.
func (l *Listener) Open() (count int) {
	for _, s := range l.sets {
		count += s.open()
	}
	return count
}

// Evicted returns the number of connections that were closed to make room for others.
func (l *Listener) Evicted() (count uint64) {
	for _, s := range l.sets {
		count += s.evicted.Load()
	}
	return count
}

// Refused returns the number of connections that were closed unanswered, because even the extra ones were used up.
func (l *Listener) Refused() uint64 { return l.refused.Load() }

// Each calls f for every open connection. f must not close it.
func (l *Listener) Each(f func(*Conn)) {
	for _, s := range l.sets {
		s.each(f)
	}
}

// CloseIdle closes the connections without a request.
func (l *Listener) CloseIdle() {
	l.Each(func(c *Conn) {
		if c.phase.Load() == waiting {
			c.Conn.Close()
		}
	})
}

// CutAll resets every connection.
func (l *Listener) CutAll() { l.Each((*Conn).Cut) }

// The phases of a connection.
const (
	waiting   int32 = iota // for the first byte of a request
	receiving              // a request
	serving                // a request that has arrived, or a WebSocket
	evicted                // closed, to make room
)

// Conn is one connection.
type Conn struct {
	net.Conn
	listener *Listener
	set      *connSet
	peer     netip.Addr      // zero if it is shared by many clients
	raw      syscall.RawConn // nil if the connection is not a socket
	end      atomic.Pointer[func(cause error)]
	phase    atomic.Int32
	last     atomic.Int64 // time of the last byte received or request ended: Unix nanoseconds
	claim    atomic.Pointer[quota.Claim]
	body     *pace       // of the current body
	unasked  bool        // drops the next interim reply
	reader   atomic.Bool // a reader detects the end of the connection
	linger   atomic.Bool
	closed   atomic.Bool
}

// pace is the progress of a body.
type pace struct {
	begun time.Time
	bytes int
}

// Extra reports whether the connection is beyond the limit, so that it serves only health checks and refusals.
func (c *Conn) Extra() bool { return c.set == c.listener.sets[1] }

// SetWaiting records that the connection waits for its next request, and releases the memory of the last one.
func (c *Conn) SetWaiting() {
	c.last.Store(time.Now().UnixNano())
	c.phase.CompareAndSwap(serving, waiting)
	c.release()
}

// SetReceiving records that a request has begun to arrive.
func (c *Conn) SetReceiving() { c.phase.CompareAndSwap(waiting, receiving) }

// SetServing records that a request has arrived.
func (c *Conn) SetServing() {
	c.body = nil
	c.phase.CompareAndSwap(receiving, serving)
}

// SetReader records that another goroutine reads from the connection continuously, and so detects that the peer has
// disconnected.
func (c *Conn) SetReader() {
	c.reader.Store(true)
	c.release()
}

// Hold keeps a claim until the request has been answered.
func (c *Conn) Hold(claim *quota.Claim) { c.claim.Store(claim) }

// AwaitBody starts the time limit of a body.
func (c *Conn) AwaitBody() {
	c.body = &pace{begun: time.Now()}
	c.phase.CompareAndSwap(serving, receiving)
}

// DropInterim drops the next interim reply (100 Continue).
func (c *Conn) DropInterim() { c.unasked = true }

// Continue sends an interim reply.
func (c *Conn) Continue() error {
	_, err := c.Write(interim)
	return err
}

// ShrinkClaim releases the claim beyond the size of the body.
func (c *Conn) ShrinkClaim(bytes int) {
	if claim := c.claim.Load(); claim != nil {
		claim.Shrink(int64(bytes))
	}
}

func (c *Conn) release() {
	if claim := c.claim.Swap(nil); claim != nil {
		claim.Release()
	}
}

// quiet reports whether the connection can be closed without losing work of the peer.
func (c *Conn) quiet(now time.Time, stall time.Duration) bool {
	switch c.phase.Load() {
	case waiting:
		return true
	case receiving:
		return now.UnixNano()-c.last.Load() >= int64(stall)
	}
	return false
}

// evict closes a quiet connection, unless a byte has arrived meanwhile.
func (c *Conn) evict() bool {
	phase := c.phase.Load()
	if phase != waiting && phase != receiving || c.unread() || !c.phase.CompareAndSwap(phase, evicted) {
		return false
	}
	c.Conn.Close()
	return true
}

// OnEnd sets the function that ends the current call; nil for none.
func (c *Conn) OnEnd(end *func(cause error)) { c.end.Store(end) }

// End ends the current call.
func (c *Conn) End(cause error) {
	if end := c.end.Load(); end != nil {
		(*end)(cause)
	}
}

// CheckGone ends the current call with ErrGone if the peer has disconnected, which it detects without reading from the
// socket. A peer that has closed only its sending side counts as disconnected, as in net/http.
func (c *Conn) CheckGone() {
	if c.end.Load() != nil && !c.reader.Load() && c.gone() {
		c.End(ErrGone)
	}
}

// LingerOnClose makes Close wait, within limits, until a peer that is still sending has read the last answer.
func (c *Conn) LingerOnClose() { c.linger.Store(true) }

// Cut resets the connection, so that the peer sees an error.
func (c *Conn) Cut() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Conn.Close()
}

// Read reads from the connection. It fails if a body arrives slower than the minimum rate.
func (c *Conn) Read(p []byte) (int, error) {
	if c.body != nil {
		if err := c.Conn.SetReadDeadline(c.listener.limits.bodyEnd(c.body)); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Read(p)
	if n == 0 {
		return n, err
	}
	c.SetReceiving()
	c.last.Store(time.Now().UnixNano())
	if c.body != nil {
		c.body.bytes += n
	}
	return n, err
}

func (l Limits) bodyEnd(p *pace) time.Time {
	return p.begun.Add(min(l.Grace+l.timeFor(p.bytes), l.Longest))
}

// timeFor returns the maximum time for a number of bytes.
func (l Limits) timeFor(bytes int) time.Duration {
	return time.Duration(bytes) * time.Second / time.Duration(l.Rate)
}

// interim is the reply that fasthttp writes before it reads an admitted body.
var interim = []byte("HTTP/1.1 100 Continue\r\n\r\n")

// Write writes p as long as the peer accepts it: at least 64 KiB within each write timeout, and all of p at the minimum
// rate.
func (c *Conn) Write(p []byte) (int, error) {
	if c.unasked {
		c.unasked = false
		if bytes.Equal(p, interim) {
			return len(p), nil
		}
	}
	limits, written := c.listener.limits, 0
	end := time.Now().Add(limits.WriteTimeout + limits.timeFor(len(p)))
	for {
		n, err := c.writePiece(p[written:min(len(p), written+writePiece)], end)
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// writePiece writes a piece until a deadline, while the peer accepts bytes. The kernel wakes a writer only when a large
// part of a full buffer was sent, which may take longer than the write timeout, so the queued bytes are counted.
func (c *Conn) writePiece(piece []byte, end time.Time) (written int, err error) {
	half := c.listener.limits.WriteTimeout / 2
	for before, looked := 0, false; ; looked = true {
		deadline := time.Now().Add(half)
		if end.Before(deadline) {
			deadline = end
		}
		if err := c.Conn.SetWriteDeadline(deadline); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(piece[written:])
		written += n
		if !errors.Is(err, os.ErrDeadlineExceeded) || deadline.Equal(end) {
			return written, err
		}
		waiting := c.queued()
		if taken := before + n - waiting; looked && taken < writePiece/2 {
			return written, err
		}
		before = waiting
	}
}

// Close closes the connection once.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	defer c.set.leave(c)
	c.End(ErrGone) // the response could not be written
	c.release()
	if c.linger.Load() {
		c.phase.CompareAndSwap(serving, receiving) // so that it may be evicted
		c.drain()
	}
	return c.Conn.Close()
}

// drain closes the sending side and reads until the peer closes its side. Closing a socket with unread bytes would
// reset it, and the reset can overtake the answer.
func (c *Conn) drain() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	end := time.Now().Add(lingerTotal)
	buffer := make([]byte, 32<<10)
	for left := lingerBytes; left > 0 && time.Now().Before(end); {
		c.Conn.SetReadDeadline(time.Now().Add(lingerPause))
		n, err := c.Conn.Read(buffer)
		if err != nil && !errors.Is(err, io.EOF) || n == 0 {
			return
		}
		left -= n
	}
}
