package netconn

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// gone reports whether the peer has closed the connection, or its sending side.
func (c *Conn) gone() bool {
	n, err := c.peek()
	waiting := errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR)
	return n == 0 && err == nil && c.raw != nil || err != nil && !waiting
}

// unread reports whether the peer has sent what nobody has read yet.
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

// queued returns how many bytes the peer has not acknowledged yet (tcp(7), SIOCOUTQ); 0 where that is not known.
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
