package web

import (
	"bufio"
	"strings"

	"github.com/valyala/fasthttp"
)

// RowFor is the row whose limits a request gets before its body is read.
func (s *Server) RowFor(method, uri string) string {
	e := s.table.match(method, rawPath([]byte(uri)))
	if e == nil {
		return ""
	}
	return e.Method + " " + e.Path
}

// BodyOf is the length of a request's body as its head says, -1 for a chunked one; ok reports whether the head is accepted.
func BodyOf(request string) (length int, ok bool) {
	var header fasthttp.RequestHeader
	if err := header.Read(bufio.NewReaderSize(strings.NewReader(request), 64<<10)); err != nil {
		return 0, false
	}
	length, framing := header.ContentLength(), readFraming(header.RawHeaders())
	if length <= 0 && length != chunked && framing.plain() {
		return 0, true
	}
	return length, framing.check(length == chunked) == nil
}
