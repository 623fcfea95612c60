//go:build unix

package netconn

import (
	"errors"
	"syscall"
)

func (c *Conn) gone() bool {
	if c.raw == nil {
		return false
	}
	gone := false
	err := c.raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		waiting := errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR)
		gone = n == 0 && err == nil || err != nil && !waiting
	})
	return gone || err != nil
}
