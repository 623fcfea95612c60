package postgres

// FindIn is Find restricted to the given folders.
var FindIn = find

// Folder returns the folder of the cluster.
func (c *Cluster) Folder() string { return c.home.folder }

// SocketFolder returns the folder of its socket.
func (c *Cluster) SocketFolder() string { return c.home.socketDir }

// PID returns the postmaster's process id.
func (c *Cluster) PID() int {
	pid, _ := postmaster(c.home)
	return pid
}

// SystemFolder returns the folder of a cluster that cannot be in dir.
var SystemFolder = systemFolder
