// Package netconn wraps a listener to limit the number of connections, in all and by address, and to enforce a minimum
// rate of sending and receiving. Connections can be closed when idle, cut, and closed so that a peer that is still
// sending receives the last reply. They also report whether the peer has gone.
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

// Bounds of the lingering close. A client that sends on after a refusal is read, and ignored, this far: enough for
// clients that only read the answer once they have sent their whole request.
const (
	lingerBytes = 256 << 20
	lingerTotal = 5 * time.Second
	lingerPause = time.Second
)

// writePiece is the number of bytes that a peer must take within one write timeout, which is checked in each half of
// it.
const writePiece = 64 << 10

// Bounds of the connections beyond the limit. They are enough for health checks, and to refuse others in words.
const (
	extraConnections = 64
	extraShare       = extraConnections / 2
	extraStall       = time.Second
)

// requestStall is the silence of a peer in the middle of a request after which its connection may make room.
const requestStall = 5 * time.Second

// acceptPause is what other parts of the process get to close files when there are no more.
const acceptPause = 10 * time.Millisecond

// ErrGone is the cause of a call's end when its peer has closed the connection.
var ErrGone = errors.New("the client has gone")

// Limits bound what peers can use up. None of the numbers may be zero.
type Limits struct {
	Connections        int           // open at once
	AddressConnections int           // of one address, open at once
	Grace              time.Duration // for a request's body, before Rate counts
	Longest            time.Duration // for a whole body
	WriteTimeout       time.Duration // in which a peer must take 64 KiB
	// Shared reports whether a peer is a proxy, which carries many clients: AddressConnections does not limit it. Nil
	// knows none.
	Shared func(netip.Addr) bool
	Rate   int // in bytes a second: a body that comes slower is ended, and so is a write that is taken slower
}

// Listener hands out *Conn.
type Listener struct {
	net.Listener
	limits Limits
	rooms  []*room // the usual one, and a small one beyond the limit

	refused atomic.Uint64

	closeOnce sync.Once
	closed    error
}

// Close stops accepting. It may be called again: Shutdown closes the listener first, and fasthttp once more.
func (l *Listener) Close() error {
	l.closeOnce.Do(func() { l.closed = l.Listener.Close() })
	return l.closed
}

// Listen wraps a listener.
func Listen(ln net.Listener, limits Limits) *Listener {
	return &Listener{Listener: ln, limits: limits, rooms: []*room{
		newRoom(limits.Connections, limits.AddressConnections, 1+limits.AddressConnections/64, requestStall),
		newRoom(extraConnections, extraShare, 1, extraStall),
	}}
}

// Accept waits for the next connection. Over a limit the quietest ones make room. Where all are busy, the new one is
// handed out as Extra, and closed when there are too many of these, too.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		switch {
		case err == nil:
			if c := l.wrap(inner); l.seat(c) {
				return c, nil
			}
			l.refused.Add(1)
			inner.Close()
		case outOfFiles(err):
			l.rooms[0].yield()
			time.Sleep(acceptPause)
		default:
			return nil, err // the server knows a closed listener by this error's text
		}
	}
}

// outOfFiles reports whether the process or the machine has no file left for a connection (accept(2)), which passes.
func outOfFiles(err error) bool {
	for _, passing := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

func (l *Listener) wrap(inner net.Conn) *Conn {
	address := quota.Address(inner.RemoteAddr())
	c := &Conn{
		Conn: inner, listener: l, peer: quota.Client(address), shared: l.limits.Shared != nil && l.limits.Shared(address),
	}
	c.last.Store(time.Now().UnixNano())
	if sys, ok := inner.(syscall.Conn); ok {
		c.raw, _ = sys.SyscallConn()
	}
	return c
}

func (l *Listener) seat(c *Conn) bool {
	for _, r := range l.rooms {
		c.room = r
		if r.enter(c) {
			return true
		}
	}
	return false
}

// Open counts the connections.
func (l *Listener) Open() (count int) {
	for _, r := range l.rooms {
		count += r.open()
	}
	return count
}

// Evicted counts the connections that were closed to make room.
func (l *Listener) Evicted() (count uint64) {
	for _, r := range l.rooms {
		count += r.evicted.Load()
	}
	return count
}

// Refused counts the connections for which there was no room, not even beyond the limit.
func (l *Listener) Refused() uint64 { return l.refused.Load() }

// Each calls f for every open connection; f must not close it.
func (l *Listener) Each(f func(*Conn)) {
	for _, r := range l.rooms {
		r.each(f)
	}
}

// CloseIdle closes the connections that carry no request.
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
	room     *room
	peer     netip.Addr
	shared   bool            // by many clients
	raw      syscall.RawConn // nil when the connection is no socket
	end      atomic.Pointer[func(cause error)]
	phase    atomic.Int32
	last     atomic.Int64 // when the last byte came, or the last request ended: Unix nanoseconds
	claim    atomic.Pointer[quota.Claim]
	body     *pace       // of the body that is being read
	unasked  bool        // the next interim reply is not sent
	reader   atomic.Bool // somebody reads all the time
	linger   atomic.Bool
	closed   atomic.Bool
}

// pace is how fast a body comes.
type pace struct {
	begun time.Time
	bytes int
}

// Extra reports whether the connection is beyond the limit: there is room for health checks and refusals only.
func (c *Conn) Extra() bool { return c.room == c.listener.rooms[1] }

// SetWaiting notes that the connection waits for its next request, and releases the memory of the last one.
func (c *Conn) SetWaiting() {
	c.last.Store(time.Now().UnixNano())
	c.phase.CompareAndSwap(serving, waiting)
	c.release()
}

// SetReceiving notes that a request has begun to arrive.
func (c *Conn) SetReceiving() { c.phase.CompareAndSwap(waiting, receiving) }

// SetServing notes that a request has arrived.
func (c *Conn) SetServing() {
	c.body = nil
	c.phase.CompareAndSwap(receiving, serving)
}

// SetReader notes that somebody reads from the connection all the time, and so learns by himself that the peer has
// gone.
func (c *Conn) SetReader() {
	c.reader.Store(true)
	c.release()
}

// Hold keeps a claim until the request has been answered.
func (c *Conn) Hold(claim *quota.Claim) { c.claim.Store(claim) }

// AwaitBody begins the time in which a body must arrive.
func (c *Conn) AwaitBody() {
	c.body = &pace{begun: time.Now()}
	c.phase.CompareAndSwap(serving, receiving)
}

// DropInterim drops the interim reply (100 Continue) that is written next.
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

// OnEnd names the function that ends the call in progress, nil for none.
func (c *Conn) OnEnd(end *func(cause error)) { c.end.Store(end) }

// End ends the call in progress.
func (c *Conn) End(cause error) {
	if end := c.end.Load(); end != nil {
		(*end)(cause)
	}
}

// CheckGone asks the socket, without taking anything from it, whether the peer has gone, and ends the call in progress
// with ErrGone if so. A peer that has closed only its sending side counts as gone, as in net/http.
func (c *Conn) CheckGone() {
	if c.end.Load() != nil && !c.reader.Load() && c.gone() {
		c.End(ErrGone)
	}
}

// LingerOnClose makes Close wait, within bounds, until a peer that is still sending has read the last answer.
func (c *Conn) LingerOnClose() { c.linger.Store(true) }

// Cut resets the connection: the peer sees an error and never a clean end.
func (c *Conn) Cut() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Conn.Close()
}

// Read fails when a body comes slower than the minimum rate.
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

// interim is what fasthttp writes before it reads a body that may be refused by its head.
var interim = []byte("HTTP/1.1 100 Continue\r\n\r\n")

// Write serves a slow peer and ends for a stalled one: for one that takes less than 64 KiB within the write timeout,
// and when all of p is taken slower than the minimum rate.
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

// writePiece writes a piece until an end, while the peer takes bytes. The kernel wakes a writer only when a large part
// of a full buffer was taken, which may last longer than the write timeout: so the bytes that wait in it are counted.
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
	defer c.room.leave(c)
	c.End(ErrGone) // the response could not be written
	c.release()
	if c.linger.Load() {
		c.phase.CompareAndSwap(serving, receiving) // it may make room
		c.drain()
	}
	return c.Conn.Close()
}

// drain ends our side and reads the peer's until it ends: closing a socket with unread bytes would reset it, and the
// reset can overtake the answer.
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
