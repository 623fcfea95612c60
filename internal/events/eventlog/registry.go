package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
)

// Upcast converts an event's data from one version to the next.
type Upcast func(json.RawMessage) (json.RawMessage, error)

// Type is an event type: its name in the log, its newest version, and the decoding of all versions.
type Type struct {
	name    string
	streams string // see In
	version int
	upcasts []Upcast
	goType  reflect.Type
	decode  func(json.RawMessage) (any, error)
}

// Name returns the type's name in the log, for example "usage-reserved".
func (t Type) Name() string { return t.name }

// Version returns the newest version of the type's data. New events have this version.
func (t Type) Version() int { return t.version }

// Define returns an event type whose newest data is the struct E. upcasts[i] converts version i+1 to version i+2, so a
// type at version n has n-1 upcasts, which NewRegistry checks.
func Define[E any](name string, version int, upcasts ...Upcast) Type {
	return Type{
		name:    name,
		version: version,
		upcasts: upcasts,
		goType:  reflect.TypeFor[E](),
		decode: func(data json.RawMessage) (any, error) {
			var e E
			if err := json.Unmarshal(data, &e); err != nil {
				return nil, err
			}
			return e, nil
		},
	}
}

// In returns the types with the streams that contain them. streams is the name of a stream, or a prefix of streams that
// ends with a hyphen.
func In(streams string, types ...Type) []Type {
	types = slices.Clone(types)
	for i := range types {
		types[i].streams = streams
	}
	return types
}

// Streams contains names of streams, and prefixes of streams that end with a hyphen.
type Streams []string

// Include reports whether a stream is one of them.
func (s Streams) Include(stream string) bool {
	return slices.ContainsFunc(s, func(one string) bool {
		return stream == one || strings.HasSuffix(one, "-") && strings.HasPrefix(stream, one)
	})
}

// namePattern matches "<aggregate>-<past participle>": lower case words joined by hyphens. A leading "$" is reserved
// for the server.
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)+$`)

// streamsPattern matches names and prefixes of streams. A shorter prefix could match streams of other applications.
var streamsPattern = regexp.MustCompile(`^[a-z][a-z0-9]+(-[a-z0-9]+)*-?$`)

func (t Type) check() error {
	switch {
	case !namePattern.MatchString(t.name):
		return fmt.Errorf("event type %q: a name is lower case words joined by hyphens", t.name)
	case !streamsPattern.MatchString(t.streams):
		return fmt.Errorf("event type %s: %q is neither a stream nor a prefix of streams, see In", t.name, t.streams)
	case t.version < 1:
		return fmt.Errorf("event type %s: versions start at 1", t.name)
	case len(t.upcasts) != t.version-1:
		return fmt.Errorf("event type %s: version %d needs %d upcasts, not %d", t.name, t.version, t.version-1,
			len(t.upcasts))
	case slices.ContainsFunc(t.upcasts, func(u Upcast) bool { return u == nil }):
		return fmt.Errorf("event type %s: an upcast is missing", t.name)
	case t.goType.Kind() != reflect.Struct:
		return fmt.Errorf("event type %s: %s is not a struct", t.name, t.goType)
	}
	for field := range t.goType.Fields() {
		if !field.IsExported() {
			return fmt.Errorf("event type %s: field %s is unexported and would not be kept", t.name, field.Name)
		}
	}
	return nil
}

// Registry is the list of the event types that this binary writes and reads. It is safe for concurrent use.
type Registry struct {
	byName  map[string]Type
	byGo    map[reflect.Type]Type
	streams Streams // of all types, sorted, without duplicates
	skips   atomic.Pointer[skips]
}

// NewRegistry checks the types. It refuses types with the same name or Go type.
func NewRegistry(types ...Type) (*Registry, error) {
	r := &Registry{byName: map[string]Type{}, byGo: map[reflect.Type]Type{}}
	r.skips.Store(&skips{})
	for _, t := range types {
		if err := t.check(); err != nil {
			return nil, err
		}
		if _, twice := r.byName[t.name]; twice {
			return nil, fmt.Errorf("event type %s is listed twice", t.name)
		}
		if other, twice := r.byGo[t.goType]; twice {
			return nil, fmt.Errorf("event types %s and %s share the Go type %s", other.name, t.name, t.goType)
		}
		r.byName[t.name] = t
		r.byGo[t.goType] = t
		r.streams = append(r.streams, t.streams)
	}
	slices.Sort(r.streams)
	r.streams = slices.Compact(r.streams)
	return r, nil
}

// Ours reports whether a stream belongs to one of the types. In a log that is shared with other applications, every
// other stream is foreign.
func (r *Registry) Ours(stream string) bool { return r.streams.Include(stream) }

// Streams returns the sorted streams of all types.
func (r *Registry) Streams() Streams { return slices.Clone(r.streams) }

// Requires returns an error if one of the streams has no types.
func (r *Registry) Requires(streams Streams) error {
	for _, one := range streams {
		if !slices.Contains(r.streams, one) {
			return fmt.Errorf("no event type is in %q", one)
		}
	}
	return nil
}

// Types returns the types sorted by name.
func (r *Registry) Types() []Type {
	types := make([]Type, 0, len(r.byName))
	for _, t := range r.byName {
		types = append(types, t)
	}
	slices.SortFunc(types, func(a, b Type) int { return strings.Compare(a.name, b.name) })
	return types
}

// Encode encodes the events of a command for Append. The i-th event gets EventID(command, first+i), so encoding the
// same command again gives the same ids. first is 0 unless a command appends more than once. Encode refuses an event
// that is not registered, and metadata without a command id, time or actor.
func (r *Registry) Encode(command uuid.UUID, first int, meta Metadata, events ...any) ([]Proposed, error) {
	if first < 0 {
		return nil, fmt.Errorf("encoding events: the first index is negative")
	}
	meta, err := meta.forWriting(command)
	if err != nil {
		return nil, fmt.Errorf("encoding events: %w", err)
	}
	proposed := make([]Proposed, 0, len(events))
	for i, event := range events {
		p, err := r.encodeOne(meta, event)
		if err != nil {
			return nil, err
		}
		p.ID = EventID(command, first+i)
		proposed = append(proposed, p)
	}
	return proposed, nil
}

func (r *Registry) encodeOne(meta Metadata, event any) (Proposed, error) {
	t, known := r.byGo[reflect.TypeOf(event)]
	if !known {
		return Proposed{}, fmt.Errorf("encoding an event of Go type %T: %w", event, ErrUnknownType)
	}
	data, err := json.Marshal(event)
	if err != nil {
		return Proposed{}, fmt.Errorf("encoding %s: %w", t.name, withoutValues(err))
	}
	if err := requireObject(data); err != nil {
		return Proposed{}, fmt.Errorf("encoding %s: %w", t.name, err)
	}
	meta.Version = t.version
	metadata, err := json.Marshal(meta)
	if err != nil {
		return Proposed{}, fmt.Errorf("encoding the metadata of %s: %w", t.name, withoutValues(err))
	}
	return Proposed{Type: t.name, Data: data, Metadata: metadata}, nil
}

// Decoded is an event of the log. Event is a value of the newest version's Go type, never a pointer.
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

// DecodeError means that an event of a known type and version cannot be decoded. It never quotes the event's data,
// which may be personal.
type DecodeError struct {
	Type     string
	Stream   string
	Revision uint64
	Reason   string
}

// IsUndecodable reports whether an error means that this binary cannot decode an event.
func IsUndecodable(err error) bool {
	return errors.As(err, new(*DecodeError)) || errors.Is(err, ErrUnknownType) || errors.Is(err, ErrNewerVersion)
}

// Error returns the event and the reason.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("event %d of stream %s (%s) cannot be decoded: %s", e.Revision, e.Stream, e.Type, e.Reason)
}

// Decode decodes a recorded event into its current Go value. Its error is ErrUnknownType, ErrNewerVersion if a newer
// release wrote the event, or a DecodeError. Unknown JSON fields are ignored, so that an older release can run next to
// a newer one. An event that an operator has skipped is returned as Skipped, without metadata, whether or not it can be
// decoded.
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

// upcast converts data to the newest version. The argument of an upcast is always a JSON object.
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

// requireObject returns an error if data is not a JSON object. encoding/json would silently accept null and leave a
// struct at its zero value.
func requireObject(data []byte) error {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("it is not a JSON object")
	}
	return nil
}

// withoutValues returns an error without the values that an encoding error may quote.
func withoutValues(err error) error {
	if syntax, found := errors.AsType[*json.SyntaxError](err); found {
		return fmt.Errorf("malformed JSON at byte %d", syntax.Offset)
	}
	if mismatch, found := errors.AsType[*json.UnmarshalTypeError](err); found {
		return fmt.Errorf("field %q does not fit a Go %s", mismatch.Field, mismatch.Type)
	}
	return fmt.Errorf("a value does not fit its field (%T)", err)
}
