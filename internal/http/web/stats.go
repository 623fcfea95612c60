package web

// Stats are figures of a server's connections and bodies.
type Stats struct {
	Connections   int    // open now
	Evicted       uint64 // connections that were closed to make room for others
	Refused       uint64 // connections that were closed unanswered, for want of room
	RefusedBodies uint64 // requests whose bodies found no room in memory, or on the disk
	Bodies        int64  // bytes of bodies that are in memory now, as announced
	Sockets       int    // WebSockets of known accounts that are open now
}

// Stats returns the present figures.
func (s *Server) Stats() Stats {
	stats := Stats{RefusedBodies: s.bodies.Refused() + s.uploads.Refused(), Bodies: s.bodies.Held(), Sockets: s.sockets.count()}
	if l := s.listener.Load(); l != nil {
		stats.Connections, stats.Evicted, stats.Refused = l.Open(), l.Evicted(), l.Refused()
	}
	return stats
}
