package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// WithLength sets the length of a stream in bytes: it is then sent with a Content-Length and not in chunks, in replies to
// HEAD too. A stream that writes another number of bytes is cut.
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
