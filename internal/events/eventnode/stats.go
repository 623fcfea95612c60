package eventnode

// Stats are figures of a node.
type Stats struct {
	LogBytes  uint64 // position of the log's end: the size of all events before compression
	DiskBytes uint64 // of the files
	Verified  uint64 // bytes of events in which no damage was found: LogBytes as it was at the start, once all is verified
	ToVerify  uint64 // bytes of events that there were at the start
	FreeBytes uint64 // of the disk under them; 0 if the file system does not report it
}

// Stats returns the present figures. It must not be called after Close.
func (n *Node) Stats() Stats {
	end, _ := n.committer.head.get()
	free, _ := n.store.disk.available()
	return Stats{LogBytes: end, DiskBytes: n.store.db.Metrics().DiskSpaceUsage(), FreeBytes: free, Verified: n.verification.size.Load(), ToVerify: n.verification.end - firstPosition}
}
