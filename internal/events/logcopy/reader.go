package logcopy

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// maxRecord is the largest record in bytes: more than any event store takes as one event.
const maxRecord = 32 << 20

// Reader reads a stream of records. Its input may be hostile.
type Reader struct {
	from   *bufio.Reader
	header Header
	count  uint64
	last   eventlog.Position
	err    error // of Next, from then on
}

// NewReader reads the header of a stream. Errors: ErrCut, ErrDamaged, ErrFormat, and those of r.
func NewReader(r io.Reader) (*Reader, error) {
	reader := &Reader{from: bufio.NewReaderSize(source{r}, 64<<10)}
	first, err := reader.record()
	if err != nil {
		return nil, err
	}
	reader.header, err = headerOf(first)
	if err != nil {
		return nil, err
	}
	reader.last = reader.header.After
	return reader, nil
}

// Header returns what the stream says before its first event.
func (r *Reader) Header() Header { return r.header }

// Next returns the next event; io.EOF after the last one of a stream that is whole. Other errors: ErrCut, ErrDamaged,
// and those of the underlying reader.
func (r *Reader) Next() (eventlog.Recorded, error) {
	for r.err == nil {
		next, err := r.record()
		switch {
		case err != nil:
			r.err = err
		case next.Metadata[typeKey] == idleType:
		case next.Metadata[typeKey] == endType:
			r.err = r.end(next)
		default:
			var event eventlog.Recorded
			event, r.err = r.event(next)
			if r.err == nil {
				return event, nil
			}
		}
	}
	return eventlog.Recorded{}, r.err
}

// Events yields the events that Next returns. An error other than io.EOF is yielded last.
func (r *Reader) Events() iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		for {
			event, err := r.Next()
			if errors.Is(err, io.EOF) || !yield(event, err) || err != nil {
				return
			}
		}
	}
}

func (r *Reader) event(next *record) (eventlog.Recorded, error) {
	event, err := eventOf(next)
	if err != nil {
		return event, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if event.Position.Compare(r.last) <= 0 {
		return event, fmt.Errorf("%w: event %s is not after the one before it", ErrDamaged, event.ID)
	}
	r.count, r.last = r.count+1, event.Position
	return event, nil
}

func (r *Reader) end(last *record) error {
	var said end
	if err := json.Unmarshal(last.Data, &said); err != nil {
		return fmt.Errorf("%w: its end cannot be read", ErrDamaged)
	}
	if said.Count != r.count || said.Count > 0 && said.Position != r.last.String() {
		return fmt.Errorf("%w: it has %d events up to position %s, and should have %d up to %s", ErrDamaged, r.count, r.last,
			said.Count, said.Position)
	}
	return io.EOF
}

func (r *Reader) record() (*record, error) {
	var next record
	err := protodelim.UnmarshalOptions{MaxSize: maxRecord}.UnmarshalFrom(r.from, &next)
	var large *protodelim.SizeTooLargeError
	var broken *readError
	switch {
	case err == nil:
		return &next, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w after position %s", ErrCut, r.last)
	case errors.As(err, &large), !errors.As(err, &broken):
		return nil, fmt.Errorf("%w after position %s", ErrDamaged, r.last)
	default:
		return nil, fmt.Errorf("reading a copy of the log: %w", broken.err)
	}
}

func headerOf(first *record) (Header, error) {
	var said header
	if first.Metadata[typeKey] != headerType || json.Unmarshal(first.Data, &said) != nil {
		return Header{}, fmt.Errorf("%w: it has no header", ErrDamaged)
	}
	if said.Format != format {
		return Header{}, fmt.Errorf("%w (%d)", ErrFormat, said.Format)
	}
	after, err := eventlog.ParsePosition(said.After)
	if err != nil {
		return Header{}, fmt.Errorf("%w: its header: %w", ErrDamaged, err)
	}
	until, err := eventlog.ParsePosition(said.Until)
	if err != nil {
		return Header{}, fmt.Errorf("%w: its header: %w", ErrDamaged, err)
	}
	return Header{Identity: eventlog.Identity{LogID: said.LogID, Epoch: said.Epoch}, After: after, Until: until}, nil
}

// readError distinguishes an error of the underlying reader from one of its content.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// source marks the errors of a reader.
type source struct{ io.Reader }

func (s source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = &readError{err}
	}
	return n, err
}
