package logcopy

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

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

// Idle shows the reader that the stream is alive while there is no event.
func (w *Writer) Idle() error {
	return w.record(&record{Metadata: map[string]string{typeKey: idleType}})
}

// End writes the last record, which says that the stream is whole. It does not close the underlying writer.
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
