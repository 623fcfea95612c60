package web

import (
	"bytes"
	"errors"
	"math/bits"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/internal/http/web/quota"
)

// headerReceived limits the body to what its route accepts; Fiber's own limit is one for all routes. It also has fasthttp
// call beforeBody, which it does when a client asks for an interim reply: there is no other place between the head of a
// request and the memory for its body where a request can be refused.
func (s *Server) headerReceived(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if length := header.ContentLength(); length <= 0 && length != chunked && readFraming(header.RawHeaders()).plain() {
		return fasthttp.RequestConfig{}
	}
	header.Set("Expect", "100-continue")
	return fasthttp.RequestConfig{MaxRequestBodySize: bodyLimit(s.endpointOf(header))}
}

// chunked is the ContentLength of a chunked body.
const chunked = -1

func (s *Server) endpointOf(header *fasthttp.RequestHeader) *endpoint {
	return s.table.match(string(header.Method()), rawPath(header.RequestURI()))
}

// bodyLimit is the size of the largest body that is read, in bytes.
func bodyLimit(e *endpoint) int {
	if e == nil || !e.plan.TakesBody() {
		return DefaultMaxBody
	}
	return max(1, e.MaxBody)
}

// beforeBody returns 100 when the body may come, or else responds.
func (s *Server) beforeBody(http *fasthttp.RequestCtx) int {
	e, conn, framing := s.endpointOf(&http.Request.Header), connOf(http), readFraming(http.Request.Header.RawHeaders())
	claim, err := s.admitBody(http, e, framing)
	asked := framing.expects > 0 && http.Request.Header.IsHTTP11()
	if err == nil {
		conn.Hold(claim)
		if announceUpload(http, e, asked) {
			conn.DropInterim()
			return fasthttp.StatusContinue
		}
		conn.AwaitBody()
		if !asked {
			conn.DropInterim()
		}
		return fasthttp.StatusContinue
	}
	return s.refuseUnread(http, e, answerTo(err))
}

// admitBody claims the memory of a body.
func (s *Server) admitBody(http *fasthttp.RequestCtx, e *endpoint, framing framing) (*quota.Claim, error) {
	length, conn := http.Request.Header.ContentLength(), connOf(http)
	if err := framing.check(length == chunked); err != nil {
		return nil, err
	}
	if conn.Extra() {
		return nil, errConnections
	}
	limit := bodyLimit(e)
	switch {
	case isUpload(&http.Request.Header, e):
		if int64(length) > e.Uploads {
			return nil, errTooLarge
		}
		length = limit
	case length == chunked:
		length = limit
	case length > limit:
		return nil, errTooLarge
	}
	memory := bodyMemory(length)
	claim, err := s.bodies.TakeWithin(quota.Client(s.clientOf(http)), memory, s.cfg.Limits.partFor(memory))
	switch {
	case errors.Is(err, quota.ErrShare):
		return nil, TooManyRequests("Too many request bodies of this address are under way", time.Second)
	case err != nil:
		return nil, errBodies
	}
	return claim, nil
}

// bodyMemory is how much fasthttp allocates for a body: the next power of two.
func bodyMemory(length int) int64 {
	if length <= 0 {
		return 0
	}
	return 1 << bits.Len(uint(length-1))
}

// ordinaryBody is what the largest body of most routes needs.
const ordinaryBody = 256 << 10

// partFor returns the part of the budget within which a body must fit. Larger ones than most have half of it: they cost a client
// little to announce and long to send, on some routes without a credential, and must leave room for those who speak.
func (l Limits) partFor(memory int64) int64 {
	if memory > ordinaryBody {
		return int64(l.Bodies / 2)
	}
	return int64(l.Bodies)
}

var (
	errTooLarge    = &Error{Status: http.StatusRequestEntityTooLarge, Message: "The request's body is too large"}
	errNotInTime   = &Error{Status: http.StatusRequestTimeout, Message: "The request did not arrive in time"}
	errBodies      = &Error{Status: http.StatusServiceUnavailable, Message: "Too many request bodies are under way", RetryAfter: time.Second}
	errConnections = &Error{Status: http.StatusServiceUnavailable, Message: "Too many connections", RetryAfter: time.Second}
)

// framing counts the lines of a head that say how long a body is, of which fasthttp keeps one, and those that go on with the
// line before, which others may read as lines of their own.
type framing struct{ lengths, codings, expects, folds int }

// plain reports whether nothing beside a length says what the body is.
func (f framing) plain() bool { return f.codings == 0 && f.folds == 0 }

func readFraming(head []byte) (f framing) {
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			f.lengths++
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			f.codings++
		case bytes.EqualFold(name, []byte("expect")):
			f.expects++
		case bytes.HasPrefix(line, []byte(" ")), bytes.HasPrefix(line, []byte("\t")):
			f.folds++
		}
	}
	return f
}

// check refuses what a proxy in front may have read in another way (RFC 9112, sections 5.2 and 6.1).
func (f framing) check(chunked bool) error {
	switch {
	case f.codings > 0 && f.lengths > 0:
		return &Error{Status: http.StatusBadRequest, Message: "Content-Length and Transfer-Encoding do not go together"}
	case f.folds > 0:
		return &Error{Status: http.StatusBadRequest, Message: "Header lines must not be folded"}
	case f.codings > 0 && !chunked:
		return &Error{Status: http.StatusBadRequest, Message: "The only Transfer-Encoding is chunked"}
	}
	return nil
}
