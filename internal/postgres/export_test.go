package postgres

// FindIn is Find that looks in the given folders alone.
var FindIn = find

// Folder is where the cluster lives.
func (c *Cluster) Folder() string { return c.home.folder }

// SocketFolder is where its socket is.
func (c *Cluster) SocketFolder() string { return c.home.socketDir }

// PID is the postmaster's process id.
func (c *Cluster) PID() int {
	pid, _ := postmaster(c.home)
	return pid
}

// SystemFolder is where a cluster lives that cannot live in dir.
var SystemFolder = systemFolder
