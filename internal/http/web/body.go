package web

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/http/web/quota"
)

// headerReceived limits the body by its route; Fiber has a single limit for all routes. It also makes fasthttp call
// beforeBody, as if the client expected an interim reply. This is the only way to refuse a request between its head and
// the allocation of its body.
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

// bodyLimit returns the maximum size of a body in bytes.
func bodyLimit(e *endpoint) int {
	if e == nil || !e.plan.TakesBody() {
		return defaultMaxBody
	}
	return max(1, e.MaxBody)
}

// beforeBody returns 100 if the body may be sent, and otherwise responds.
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

// admitBody claims the memory for a body.
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

// bodyMemory returns the memory that fasthttp allocates for a body: the next power of two.
func bodyMemory(length int) int64 {
	if length <= 0 {
		return 0
	}
	return 1 << bits.Len(uint(length-1))
}

// ordinaryBody is the memory for the largest body of most routes.
const ordinaryBody = 256 << 10

// partFor returns the part of the budget that a body must fit into. For large bodies it is half of the budget: a client
// can announce them at little cost and send them slowly, on some routes without a credential, and they must leave
// memory for requests of speech.
func (l Limits) partFor(memory int64) int64 {
	if memory > ordinaryBody {
		return int64(l.Bodies / 2)
	}
	return int64(l.Bodies)
}

var (
	errTooLarge  = &Error{Status: http.StatusRequestEntityTooLarge, Message: "The request's body is too large"}
	errNotInTime = &Error{Status: http.StatusRequestTimeout, Message: "The request did not arrive in time"}
	errBodies    = &Error{
		Status: http.StatusServiceUnavailable, Message: "Too many request bodies are under way", RetryAfter: time.Second,
	}
	errConnections = &Error{
		Status: http.StatusServiceUnavailable, Message: "Too many connections", RetryAfter: time.Second,
	}
)

// framing counts the header lines that determine the length of a body, of which fasthttp keeps only one, and folded
// lines, which a proxy may read as separate lines.
type framing struct{ lengths, codings, expects, folds int }

// plain reports whether only a length determines the body.
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

// check refuses a head that a proxy may have interpreted differently (RFC 9112, sections 5.2 and 6.1).
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

// uploadKey is the key of an upload in a request. fasthttp reads bodies into memory, or writes forms to named files,
// before the caller is known. If it streams bodies, idle connections keep their read buffers. Uploads are therefore
// hidden from fasthttp: their length is set to zero, and the connection of a known caller is hijacked, like a
// WebSocket's. The unread rest is the body. The connection is closed after the response.

type uploadKey struct{}

// upload is a body that has not been read.
type upload struct {
	length int
	asked  bool // the client expects an interim reply
}

// isUpload reports whether a body is an upload, with its files written to disk: a form with an announced length.
func isUpload(header *fasthttp.RequestHeader, e *endpoint) bool {
	return e != nil && e.Uploads > 0 && header.ContentLength() > 0 && bind.IsMultipart(string(header.ContentType()))
}

// announceUpload hides an upload from fasthttp, and reports whether the request is one.
func announceUpload(http *fasthttp.RequestCtx, e *endpoint, asked bool) bool {
	header := &http.Request.Header
	if !isUpload(header, e) {
		return false
	}
	http.SetUserValue(uploadKey{}, &upload{length: header.ContentLength(), asked: asked})
	header.SetContentLength(0)
	return true
}

// uploadOf returns the upload of a request, or nil. An upload is the last request on its connection.
func uploadOf(http *fasthttp.RequestCtx) *upload {
	announced, ok := http.UserValue(uploadKey{}).(*upload)
	if ok {
		http.SetConnectionClose()
		connOf(http).LingerOnClose()
	}
	return announced
}

// answerWithUpload reserves disk space for an upload, and reads and answers it on a connection hijacked from fasthttp.
func (s *Server) answerWithUpload(v *visit) error {
	if v.upload == nil {
		return s.answer(v)
	}
	claim, err := s.uploads.Take(quota.Client(v.Client), int64(v.upload.length))
	switch {
	case errors.Is(err, quota.ErrShare):
		return TooManyRequests("Too many uploads of this address are under way", uploadPause)
	case err != nil:
		return errUploads
	}
	file, err := s.cfg.Uploads.Create(v.Principal.Account, int64(v.upload.length))
	if err != nil {
		claim.Release()
		return explainSpool(err)
	}
	v.release = func() { file.Close(); claim.Release() }
	var inTime func() bool
	v.http.HijackSetNoResponse(true)
	v.http.Hijack(func(from net.Conn) {
		if inTime() {
			s.answerUpload(v, from, file)
		}
	})
	inTime = s.takeOver(v)
	return nil
}

// uploadPause is the time after which a retry may succeed.
const uploadPause = 5 * time.Second

var errUploads = &Error{
	Status: http.StatusServiceUnavailable, Message: "Too many uploads are under way", RetryAfter: uploadPause,
}

// explainSpool returns the client's error for a refusal by a spool.
func explainSpool(err error) error {
	switch {
	case errors.Is(err, spool.ErrShare):
		return TooManyRequests("Too many uploads of this account are under way", uploadPause)
	case errors.Is(err, spool.ErrFull):
		return errUploads
	}
	return errors.Join(domain.Refuse(domain.Unavailable, "The upload cannot be kept at present"), err)
}

// answerUpload answers an upload and ends its visit, in place of fasthttp.
func (s *Server) answerUpload(v *visit, from io.Reader, file *spool.File) {
	if err := s.tryUpload(v, from, file); err != nil {
		s.refuse(v, err)
	}
	size := bodySize(v.http)
	out := bufio.NewWriter(connOf(v.http))
	err := v.http.Response.Write(out)
	if err == nil {
		err = out.Flush()
	}
	if v.stream != nil {
		return
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errClientGone, err)
	}
	s.close(v, size, err)
}

func (s *Server) tryUpload(v *visit, from io.Reader, file *spool.File) (err error) {
	defer recoverTo(&err)
	if err := s.readUpload(v, from, file); err != nil {
		return err
	}
	v.life.extend(v.Route.Timeout)
	return s.answer(v)
}

// readUpload parses the body.
func (s *Server) readUpload(v *visit, from io.Reader, file *spool.File) error {
	conn := connOf(v.http)
	conn.AwaitBody()
	defer conn.SetServing()
	v.life.extend(s.cfg.Limits.BodyTimeout + time.Minute) // the connection's own limits end the reading earlier
	if v.upload.asked {
		if err := conn.Continue(); err != nil {
			return fmt.Errorf("%w: %w", errClientGone, err)
		}
	}
	body := bufio.NewReaderSize(&uploadBody{from: from, left: v.upload.length}, uploadBuffer)
	form, err := v.plan.ReadMultipart(string(v.http.Request.Header.ContentType()), body, v.Route.MaxBody, keepIn(file))
	if errors.Is(err, bind.ErrTexts) {
		return errTooLarge
	}
	v.form = form
	return err
}

// uploadBuffer is the size of the buffers between connection and disk: the reader of forms takes 4 KiB at a time.
const uploadBuffer = 64 << 10

// keepIn returns a Keep that appends the files of a form to a file of the spool.
func keepIn(file *spool.File) bind.Keep {
	out := bufio.NewWriterSize(file, uploadBuffer)
	return func(content io.Reader) (*io.SectionReader, error) {
		begin := file.Size()
		_, err := out.ReadFrom(content)
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			return nil, explainSpool(err)
		}
		return io.NewSectionReader(file, begin, file.Size()-begin), nil
	}
}

// uploadBody reads up to the announced length.
type uploadBody struct {
	from io.Reader
	left int
}

func (b *uploadBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	switch {
	case err == nil, b.left == 0:
		return n, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, errNotInTime
	}
	return n, fmt.Errorf("%w: %w", errClientGone, err)
}
