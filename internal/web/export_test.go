package web

// RowFor is the row whose limits a request gets before its body is read.
func (s *Server) RowFor(method, uri string) string {
	e := s.table.match(method, rawPath([]byte(uri)))
	if e == nil {
		return ""
	}
	return e.Method + " " + e.Path
}
