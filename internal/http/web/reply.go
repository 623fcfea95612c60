package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/internal/http/web/conditional"
)

// Reply is what a handler answers. The zero Reply is an empty 200.
type Reply struct {
	status      int
	headers     [][2]string
	contentType string
	body        []byte
	value       any
	encode      bool
	stream      StreamWriter
	length      *int64 // of the stream, in bytes; nil when it is not known
}

// StreamWriter writes a body piece by piece. Each Write of w returns when the piece has been handed to the connection
// and is a chunk of its own on the wire. ctx ends when the client has gone, when Limits.Stream is over and when the
// server is torn down. An error after which the body is incomplete must be returned: the connection is then cut, so
// that the client cannot take the body for whole.
type StreamWriter func(ctx context.Context, w io.Writer) error

// JSON answers v as JSON.
func JSON(v any) Reply { return Reply{value: v, encode: true, contentType: "application/json"} }

// Bytes answers b, which must not be written to afterwards.
func Bytes(contentType string, b []byte) Reply { return Reply{body: b, contentType: contentType} }

// Stream answers what write writes. The head is sent when the handler has returned, before write runs.
func Stream(contentType string, write func(ctx context.Context, w io.Writer) error) Reply {
	return Reply{stream: write, contentType: contentType}
}

// WithLength sets the length of a stream in bytes: it is then sent with a Content-Length and not in chunks, in replies
// to HEAD too. A stream that writes another number of bytes is cut.
func (r Reply) WithLength(bytes int64) Reply {
	r.length = &bytes
	return r
}

// Redirect sends the client elsewhere, with 302, 303, 307 or 308.
func Redirect(status int, location string) Reply {
	return Reply{status: status}.WithHeader("Location", location)
}

// WithStatus sets the status.
func (r Reply) WithStatus(status int) Reply {
	r.status = status
	return r
}

// WithHeader adds a header; the same name may be added several times, as Set-Cookie needs it.
func (r Reply) WithHeader(name, value string) Reply {
	r.headers = append(r.headers[:len(r.headers):len(r.headers)], [2]string{name, value})
	return r
}

// bytes is the body of a reply that is not a stream.
func (r *Reply) bytes() ([]byte, error) {
	if !r.encode {
		return r.body, nil
	}
	return encodeJSON(r.value)
}

// encodeJSON leaves <, > and & as they are: the bodies are not put into HTML.
func encodeJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding the reply: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Content is a body that clients may keep, and send back conditions about.
type Content struct {
	Tag          string // the entity tag, in quotes: the same for the same bytes
	CacheControl string
	Size         int64 // in bytes
	Ranges       bool  // parts can be asked for
	// Body returns the reply with a part of the body: all of it unless Ranges is set. An error takes its place.
	Body func(conditional.Part) (Reply, error)
}

// Serve replies with what the conditions of the request ask for: the body, a part of it (206), that the client has it
// (304), or that it has no such part (416).
func (c Content) Serve(call *Call, given conditional.Headers) (Reply, error) {
	call.SetHeader("ETag", c.Tag)
	call.SetHeader("Cache-Control", c.CacheControl)
	if c.Ranges {
		call.SetHeader("Accept-Ranges", "bytes")
	}
	if given.Matches(c.Tag) {
		return Reply{}.WithStatus(http.StatusNotModified), nil
	}
	if !c.Ranges {
		return c.Body(conditional.Part{Length: c.Size})
	}
	part, partial, err := given.Part(c.Tag, c.Size)
	if err != nil {
		call.SetHeader("Content-Range", conditional.Unsatisfied(c.Size))
		return Reply{}, &Error{Status: http.StatusRequestedRangeNotSatisfiable, Message: "There is no such range"}
	}
	reply, err := c.Body(part)
	if partial {
		reply = reply.WithStatus(http.StatusPartialContent).WithHeader("Content-Range", part.ContentRange(c.Size))
	}
	return reply, err
}

// streamBody lets fasthttp's connection goroutine run the writer itself: WriteTo is given a writer that frames and
// flushes each piece. So a Write returns only when its piece has been handed to the connection, the writer never
// outlives its connection, and no piece waits in a pipe. An error of WriteTo cuts the connection; fasthttp's own
// SetBodyStreamWriter would end the body cleanly then, and would let a panic end the process.
type streamBody struct {
	life    *lifetime
	write   StreamWriter
	limit   time.Duration
	written atomic.Int64
	result  error
	once    sync.Once
	done    func(bytes int64, err error)
}

// SupportsBodyWriteTo makes fasthttp use WriteTo.
func (b *streamBody) SupportsBodyWriteTo() bool { return true }

// Read is never used, because WriteTo is.
func (b *streamBody) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// WriteTo runs the writer.
func (b *streamBody) WriteTo(w io.Writer) (int64, error) {
	b.life.extend(b.limit)
	out := &chunkWriter{ctx: b.life, to: w, written: &b.written}
	b.result = b.run(out)
	out.ended.Store(true)
	return b.written.Load(), b.result
}

func (b *streamBody) run(out io.Writer) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = panicError(cause)
		}
	}()
	if err := b.write(b.life, out); err != nil {
		return fmt.Errorf("writing the stream: %w", b.life.why(err))
	}
	if b.life.Err() != nil {
		// The writer had to stop: whether it had written everything is unknown.
		return fmt.Errorf("writing the stream: %w", context.Cause(b.life))
	}
	return nil
}

// Close is called by fasthttp when the response is over, whether WriteTo ran or not.
func (b *streamBody) Close() error {
	b.once.Do(func() { b.done(b.written.Load(), b.result) })
	return nil
}

// chunkWriter writes to the connection as long as the stream lives.
type chunkWriter struct {
	ctx     context.Context
	to      io.Writer
	written *atomic.Int64
	ended   atomic.Bool
}

func (w *chunkWriter) Write(p []byte) (int, error) {
	if w.ended.Load() {
		return 0, fmt.Errorf("writing to the stream: %w", io.ErrClosedPipe)
	}
	if err := w.ctx.Err(); err != nil {
		return 0, fmt.Errorf("writing to the stream: %w", context.Cause(w.ctx))
	}
	n, err := w.to.Write(p)
	w.written.Add(int64(n))
	if err != nil {
		return n, fmt.Errorf("writing to the stream: %w: %w", errClientGone, err)
	}
	return n, nil
}
