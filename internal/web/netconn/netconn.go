// Package netconn wraps a listener whose connections can be counted, closed when idle, cut, and closed so that a peer
// that is still sending receives the last reply. It also reports whether the peer has gone.
package netconn

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Bounds of the lingering close. A client that sends on after a refusal is read, and ignored, this far: enough for
// clients that only read the answer once they have sent their whole request.
const (
	lingerBytes = 64 << 20
	lingerTotal = 5 * time.Second
	lingerPause = time.Second
)

// writePiece is how much a peer must take within one write timeout.
const writePiece = 64 << 10

// ErrGone is the cause of a call's end when its peer has closed the connection.
var ErrGone = errors.New("the client has gone")

// Listener hands out *Conn.
type Listener struct {
	net.Listener
	writeTimeout time.Duration

	mu    sync.Mutex
	conns map[*Conn]struct{}

	closeOnce sync.Once
	closed    error
}

// Close stops accepting. Closing again does nothing: Shutdown closes the listener first, and fasthttp once more.
func (l *Listener) Close() error {
	l.closeOnce.Do(func() { l.closed = l.Listener.Close() })
	return l.closed
}

// Listen wraps a listener. A peer that takes no 64 KiB within writeTimeout fails the write.
func Listen(ln net.Listener, writeTimeout time.Duration) *Listener {
	return &Listener{Listener: ln, writeTimeout: writeTimeout, conns: map[*Conn]struct{}{}}
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		return nil, err // the server knows a closed listener by this error's text
	}
	c := &Conn{Conn: inner, listener: l}
	if sys, ok := inner.(syscall.Conn); ok {
		c.raw, _ = sys.SyscallConn()
	}
	l.mu.Lock()
	l.conns[c] = struct{}{}
	l.mu.Unlock()
	return c, nil
}

// Open counts the connections.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// Each calls f for every open connection; f must not close it.
func (l *Listener) Each(f func(*Conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		f(c)
	}
}

// CloseIdle closes the connections that carry no request.
func (l *Listener) CloseIdle() {
	l.Each(func(c *Conn) {
		if c.idle.Load() || !c.used.Load() {
			c.Conn.Close()
		}
	})
}

// CutAll resets every connection.
func (l *Listener) CutAll() { l.Each((*Conn).Cut) }

func (l *Listener) forget(c *Conn) {
	l.mu.Lock()
	delete(l.conns, c)
	l.mu.Unlock()
}

// Conn is one connection.
type Conn struct {
	net.Conn
	listener *Listener
	raw      syscall.RawConn // nil when the connection is no socket
	end      atomic.Pointer[func(cause error)]
	used     atomic.Bool // a byte has been read
	idle     atomic.Bool // between two requests
	reader   atomic.Bool // somebody reads all the time
	linger   atomic.Bool
	closed   atomic.Bool
}

// SetIdle notes whether the connection waits for its next request.
func (c *Conn) SetIdle(idle bool) { c.idle.Store(idle) }

// SetReader notes that somebody reads from the connection all the time, and so learns by himself that the peer has gone.
func (c *Conn) SetReader() { c.reader.Store(true) }

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

// Read notes that the connection is used.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.used.Load() {
		c.used.Store(true)
	}
	return n, err
}

// Write starts the write timeout anew for each 64 KiB, so that a slow one is served and a stalled one is not.
func (c *Conn) Write(p []byte) (int, error) {
	written := 0
	for {
		piece := p[written:min(len(p), written+writePiece)]
		if err := c.Conn.SetWriteDeadline(time.Now().Add(c.listener.writeTimeout)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(piece)
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// Close closes the connection once.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	defer c.listener.forget(c)
	c.End(ErrGone) // of a call whose answer could not be written
	if c.linger.Load() {
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
		if err != nil && err != io.EOF || n == 0 {
			return
		}
		left -= n
	}
}
