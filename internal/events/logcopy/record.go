package logcopy

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// record is an event in the protocol's own form. Records with types of the event store itself ("$…"), which are never
// copied, frame the events.
type record = streams.ReadResp_ReadEvent_RecordedEvent

const (
	headerType = "$header"
	idleType   = "$idle" // shows that the stream is alive without new events
	endType    = "$end"
)

// The keys and values of the protocol's metadata.
const (
	typeKey, contentTypeKey, createdKey = "type", "content-type", "created"

	jsonContent, binaryContent = "application/json", "application/octet-stream"
)

const tick = 100 * time.Nanosecond // of the protocol's times

func recordOf(event eventlog.Recorded) *record {
	content := jsonContent
	if event.Binary {
		content = binaryContent
	}
	return &record{
		Id:               &shared.UUID{Value: &shared.UUID_String_{String_: event.ID.String()}},
		StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(event.Stream)},
		StreamRevision:   event.Revision,
		CommitPosition:   event.Position.Commit,
		PreparePosition:  event.Position.Prepare,
		Metadata: map[string]string{
			typeKey: event.Type, contentTypeKey: content, createdKey: strconv.FormatInt(ticks(event.Created), 10),
		},
		Data:           event.Data,
		CustomMetadata: event.Metadata,
	}
}

func eventOf(r *record) (eventlog.Recorded, error) {
	id, err := uuid.Parse(r.GetId().GetString_())
	if err != nil {
		return eventlog.Recorded{}, errors.New("an event has no id")
	}
	kind, stream := r.Metadata[typeKey], string(r.GetStreamIdentifier().GetStreamName())
	if kind == "" || strings.HasPrefix(kind, "$") || stream == "" {
		return eventlog.Recorded{}, fmt.Errorf("event %s has no type or no stream", id)
	}
	created, err := strconv.ParseInt(r.Metadata[createdKey], 10, 64)
	if err != nil {
		return eventlog.Recorded{}, fmt.Errorf("event %s has no time", id)
	}
	content := r.Metadata[contentTypeKey]
	if content != jsonContent && content != binaryContent {
		return eventlog.Recorded{}, fmt.Errorf("event %s has no known content type", id)
	}
	return eventlog.Recorded{
		ID:       id,
		Stream:   stream,
		Revision: r.StreamRevision,
		Position: eventlog.Position{Commit: r.CommitPosition, Prepare: r.PreparePosition},
		Type:     kind,
		Data:     r.Data,
		Metadata: r.CustomMetadata,
		Binary:   content == binaryContent,
		Created:  time.Unix(created/int64(time.Second/tick), created%int64(time.Second/tick)*int64(tick)).UTC(),
	}, nil
}

// ticks returns the time in ticks since the Unix epoch. Nanoseconds could not represent all times.
func ticks(t time.Time) int64 {
	return t.Unix()*int64(time.Second/tick) + int64(t.Nanosecond())/int64(tick)
}

// maxRecord is the maximum size of a record in bytes: more than any event store accepts for one event.
const maxRecord = 32 << 20

// Reader reads a stream of records. Its input may be hostile.
type Reader struct {
	from   *bufio.Reader
	header Header
	count  uint64
	last   eventlog.Position
	err    error // of Next; final
}

// NewReader reads the header of a stream. Errors: ErrCut, ErrDamaged, ErrFormat, and r's.
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

// Header returns the header of the stream.
func (r *Reader) Header() Header { return r.header }

// Next returns the next event, or io.EOF at the end of a complete stream. Other errors: ErrCut, ErrDamaged, and the
// underlying reader's.
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

// Events yields the events of Next. An error other than io.EOF is the last element.
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
	broken, unreadable := errors.AsType[*readError](err)
	switch {
	case err == nil:
		return &next, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w after position %s", ErrCut, r.last)
	case !unreadable:
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

// readError marks an error of the underlying reader, as opposed to its content.
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

// format is the version of the form of a stream.
const format = 1

// header and end are the data of the records around the events.
type header struct {
	Format int       `json:"format"`
	LogID  uuid.UUID `json:"logId"`
	Epoch  int       `json:"epoch"`
	After  string    `json:"after"`
	Until  string    `json:"until"`
}

type end struct {
	Count    uint64 `json:"count"`
	Position string `json:"position"` // of the last event
}

// Writer writes events as a stream of records. It does not buffer.
type Writer struct {
	to    io.Writer
	count uint64
	last  eventlog.Position
}

// NewWriter begins a stream.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	writer := &Writer{to: w}
	return writer, writer.frame(headerType, header{
		Format: format, LogID: h.Identity.LogID, Epoch: h.Identity.Epoch, After: h.After.String(), Until: h.Until.String(),
	})
}

// Write writes an event. The same events give the same bytes.
func (w *Writer) Write(event eventlog.Recorded) error {
	w.count, w.last = w.count+1, event.Position
	return w.record(recordOf(event))
}

// Idle tells the reader that the stream is alive while there is no event.
func (w *Writer) Idle() error {
	return w.record(&record{Metadata: map[string]string{typeKey: idleType}})
}

// End writes the last record, which marks the stream as complete. It does not close the underlying writer.
func (w *Writer) End() error { return w.frame(endType, end{Count: w.count, Position: w.last.String()}) }

func (w *Writer) frame(kind string, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("writing a copy of the log: %w", err)
	}
	return w.record(&record{Metadata: map[string]string{typeKey: kind}, Data: data})
}

func (w *Writer) record(r *record) error {
	options := protodelim.MarshalOptions{MarshalOptions: proto.MarshalOptions{Deterministic: true}}
	if _, err := options.MarshalTo(w.to, r); err != nil {
		return fmt.Errorf("writing a copy of the log: %w", err)
	}
	return nil
}
