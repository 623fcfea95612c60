package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Decoded is an event of the log as the Go value of its newest version, never a pointer.
type Decoded struct {
	Recorded
	Event any
	Meta  Metadata
}

// Errors of Decode, besides DecodeError.
var (
	ErrUnknownType  = errors.New("the event type is not registered")
	ErrNewerVersion = errors.New("the event is newer than this binary")
)

// DecodeError means that an event of a known type and version cannot be decoded: it is poison. It never quotes the
// event's data, because that may be personal.
type DecodeError struct {
	Type     string
	Stream   string
	Revision uint64
	Reason   string
}

// IsUndecodable reports whether an error means that an event cannot be decoded by this binary.
func IsUndecodable(err error) bool {
	var poison *DecodeError
	return errors.As(err, &poison) || errors.Is(err, ErrUnknownType) || errors.Is(err, ErrNewerVersion)
}

// Error returns the event and the reason.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("event %d of stream %s (%s) cannot be decoded: %s", e.Revision, e.Stream, e.Type, e.Reason)
}

// Decode decodes a recorded event into its current Go value. Errors: ErrUnknownType; ErrNewerVersion, which means that
// a newer release wrote it and is not an error of the event; a DecodeError otherwise. The value is complete or absent.
// Unknown JSON fields are ignored, so that an older release can read next to a newer one. An event that an operator has
// skipped is Skipped, without metadata, whether or not it could be decoded.
func (r *Registry) Decode(rec Recorded) (Decoded, error) {
	if r.IsSkipped(rec.ID) {
		return Decoded{Recorded: rec, Event: Skipped{}}, nil
	}
	decoded, err := r.decode(rec)
	if err != nil && rec.Stream == SkipsStream {
		return Decoded{Recorded: rec, Event: Skipped{}}, nil
	}
	return decoded, err
}

func (r *Registry) decode(rec Recorded) (Decoded, error) {
	t, known := r.byName[rec.Type]
	if !known {
		return Decoded{}, fmt.Errorf("event %d of stream %s (%q): %w", rec.Revision, rec.Stream, rec.Type, ErrUnknownType)
	}
	poison := func(what string, err error) (Decoded, error) {
		reason := fmt.Sprintf("%s: %v", what, err)
		return Decoded{}, &DecodeError{Type: rec.Type, Stream: rec.Stream, Revision: rec.Revision, Reason: reason}
	}
	meta, err := parseMetadata(rec.Metadata)
	if err != nil {
		return poison("metadata", err)
	}
	if meta.Version > t.version {
		return Decoded{}, fmt.Errorf("event %d of stream %s (%s, version %d): %w",
			rec.Revision, rec.Stream, rec.Type, meta.Version, ErrNewerVersion)
	}
	data, err := t.upcast(rec.Data, meta.Version)
	if err != nil {
		return poison("data", err)
	}
	event, err := t.decode(data)
	if err != nil {
		return poison("data", withoutValues(err))
	}
	return Decoded{Recorded: rec, Event: event, Meta: meta}, nil
}

// upcast converts data of a version to the newest. The argument of an upcast is always a JSON object.
func (t Type) upcast(data json.RawMessage, from int) (json.RawMessage, error) {
	if err := requireObject(data); err != nil {
		return nil, err
	}
	for version := from; version < t.version; version++ {
		next, err := t.upcasts[version-1](data)
		if err != nil {
			return nil, fmt.Errorf("upcast from version %d: %w", version, withoutValues(err))
		}
		if err := requireObject(next); err != nil {
			return nil, fmt.Errorf("upcast from version %d: %w", version, err)
		}
		data = next
	}
	return data, nil
}

// requireObject refuses what encoding/json would accept silently: null leaves a struct at its zero value.
func requireObject(data []byte) error {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("it is not a JSON object")
	}
	return nil
}

// withoutValues keeps the parts of an encoding error that do not contain values: some errors quote their input.
func withoutValues(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("malformed JSON at byte %d", syntax.Offset)
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Errorf("field %q does not fit a Go %s", mismatch.Field, mismatch.Type)
	}
	return fmt.Errorf("a value does not fit its field (%T)", err)
}
