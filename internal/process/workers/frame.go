// Package workers runs the processes that link C code (speech engines, codecs) as child processes, which exchange
// frames over their standard input and output. A child that crashes or stalls fails its job, never the server.
package workers

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxPayload is the maximum payload of a frame in bytes.
const MaxPayload = 1 << 20

const headerSize = 9

// Frame is one message between recitald and a worker. Each protocol defines its own kinds.
type Frame struct {
	Kind    byte
	Stream  uint32 // identifies one of several concurrent jobs; 0 if there is only one
	Payload []byte
}

// ErrFrameTooLarge means that a frame exceeds MaxPayload.
var ErrFrameTooLarge = errors.New("a frame is larger than 1 MiB")

// Reader reads frames.
type Reader struct{ in *bufio.Reader }

// NewReader returns a Reader of frames from r.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(r, 64<<10)} }

// Read returns the next frame, whose payload belongs to the caller. It returns io.EOF at a clean end and
// io.ErrUnexpectedEOF in the middle of a frame.
func (r *Reader) Read() (Frame, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r.in, header[:]); err != nil {
		return Frame{}, err
	}
	size := binary.LittleEndian.Uint32(header[5:])
	if size > MaxPayload {
		return Frame{}, ErrFrameTooLarge
	}
	frame := Frame{Kind: header[0], Stream: binary.LittleEndian.Uint32(header[1:]), Payload: make([]byte, size)}
	if _, err := io.ReadFull(r.in, frame.Payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, fmt.Errorf("reading a frame's payload: %w", err)
	}
	return frame, nil
}

// Writer writes frames, each in one flush. It is not safe for concurrent use.
type Writer struct{ out *bufio.Writer }

// NewWriter returns a Writer of frames to w.
func NewWriter(w io.Writer) *Writer { return &Writer{out: bufio.NewWriterSize(w, 64<<10)} }

// Write writes one frame.
func (w *Writer) Write(f Frame) error {
	if len(f.Payload) > MaxPayload {
		return ErrFrameTooLarge
	}
	var header [headerSize]byte
	header[0] = f.Kind
	binary.LittleEndian.PutUint32(header[1:], f.Stream)
	binary.LittleEndian.PutUint32(header[5:], uint32(len(f.Payload)))
	_, _ = w.out.Write(header[:])
	_, _ = w.out.Write(f.Payload)
	if err := w.out.Flush(); err != nil { // or of the writes before it
		return fmt.Errorf("writing a frame: %w", err)
	}
	return nil
}

// WriteJSON writes a frame with content in JSON.
func (w *Writer) WriteJSON(kind byte, content any) error {
	payload, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encoding a frame: %w", err)
	}
	return w.Write(Frame{Kind: kind, Payload: payload})
}

// ParseJSON returns the content of a frame by WriteJSON of a kind. The error does not quote it.
func ParseJSON[T any](f Frame, kind byte) (content T, err error) {
	if f.Kind != kind || json.Unmarshal(f.Payload, &content) != nil {
		return *new(T), fmt.Errorf("a frame of the kind %q is not one of %q that can be read", f.Kind, kind)
	}
	return content, nil
}
