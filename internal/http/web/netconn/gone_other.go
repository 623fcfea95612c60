//go:build !unix

package netconn

// gone cannot be known here; the next write fails.
func (c *Conn) gone() bool { return false }

// unread cannot be known here.
func (c *Conn) unread() bool { return false }

func (c *Conn) queued() int { return 0 }
