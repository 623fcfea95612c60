// Package eventlog defines the interface of the event log, the only source of truth, and the codec of its events. The
// adapters are subpackages, such as esdb. Each adapter has to pass the contract suite in logtest.
package eventlog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain"
)

// Log is the event log. Every call ends when its context ends.
//
// Errors: ErrUnavailable (wrapped) if the log cannot be reached; a ConflictError from Append if the stream is not at
// the expected revision; ErrTooLarge (wrapped) from Append; the context's error if it ended first, together with
// ErrUnavailable if it ended because the log did not respond.
type Log interface {
	// Append appends the events to the stream atomically, if the stream is at the expected revision. An append with an
	// unknown outcome (timeout, broken connection) is repeated identically until the outcome is known or ctx ends. So an
	// error other than ErrUnavailable and a context's error means that no event was written. After these two, the events
	// may have been written, or may still be written, and only an identical append settles it. Repeating an identical
	// append (same expected revision, same event ids) succeeds without writing again, and returns the position of the
	// first one. Appending no events does nothing, at any revision.
	Append(ctx context.Context, stream string, expected Revision, events []Proposed) (Appended, error)

	// ReadStream yields the events of a stream from a revision (inclusive) upwards, in bounded reads. A stream that was
	// never written has no events. A non-nil error is the last element.
	ReadStream(ctx context.Context, stream string, from uint64) iter.Seq2[Recorded, error]

	// ReadStreamBackwards yields the events of a stream from its end down to revision 0, in bounded reads.
	ReadStreamBackwards(ctx context.Context, stream string) iter.Seq2[Recorded, error]

	// Head returns the position of the last event other than system events, or Start if there is none.
	Head(ctx context.Context) (Position, error)

	// Subscribe delivers every event after the position except system events, in log order, until ctx ends. After an
	// outage it resumes after the last event that it delivered.
	Subscribe(ctx context.Context, after Position) Subscription
}

// Subscription is a catch-up subscription to the whole log.
type Subscription interface {
	// Deliveries returns a channel that is closed when the subscription's context has ended or the subscription
	// cannot continue (see Err).
	Deliveries() <-chan Delivery
	// Err returns the reason why Deliveries was closed: the context's error, or the one that prevents continuing.
	Err() error
}

// Delivery is an event, or a change of the subscription's state.
type Delivery struct {
	Kind  DeliveryKind
	Event Recorded // if Kind is KindEvent
}

// DeliveryKind is the kind of a Delivery.
type DeliveryKind int

// The kinds of deliveries.
const (
	KindEvent DeliveryKind = iota // an event
	// all events up to the log's head are delivered; later ones follow as they are written
	KindCaughtUp
	KindInterrupted // the connection was lost; the subscription resumes and catches up again
)

// Proposed is an event to be appended.
type Proposed struct {
	ID       uuid.UUID // see EventID
	Type     string
	Data     []byte // JSON
	Metadata []byte // JSON
	Binary   bool   // Data is not JSON; only for copies of foreign events
}

// Recorded is an event of the log.
type Recorded struct {
	ID       uuid.UUID
	Stream   string
	Revision uint64
	Position Position
	Type     string
	Data     []byte
	Metadata []byte
	Binary   bool      // Data is not declared as JSON; the event is foreign
	Created  time.Time // according to the log's clock
}

// Appended is the result of an append.
type Appended struct {
	Revision Revision // of the stream's last event
	Position Position // of the append's last event
}

// Revision is the revision of a stream's last event. Revisions start at 0.
type Revision int64

// NoStream is the revision of a stream without events.
const NoStream Revision = -1

// Position is a position in the log. Positions can be compared, but their differences have no meaning. Gaps are normal.
type Position struct {
	Commit  uint64
	Prepare uint64
}

// Start returns the position before the first event.
func Start() Position { return Position{} }

// Compare returns a negative number, zero or a positive number if p is before, at or after q.
func (p Position) Compare(q Position) int {
	switch {
	case p.Commit < q.Commit, p.Commit == q.Commit && p.Prepare < q.Prepare:
		return -1
	case p == q:
		return 0
	default:
		return 1
	}
}

// String returns the form of the x-recital-position header: two decimal numbers joined by a slash.
func (p Position) String() string {
	return strconv.FormatUint(p.Commit, 10) + "/" + strconv.FormatUint(p.Prepare, 10)
}

// ParsePosition parses the result of String.
func ParsePosition(s string) (Position, error) {
	commit, prepare, found := strings.Cut(s, "/")
	if !found {
		return Position{}, errors.New("a position is two numbers joined by a slash")
	}
	c, err := strconv.ParseUint(commit, 10, 64)
	if err != nil {
		return Position{}, errors.New("the commit part of the position is not a number")
	}
	p, err := strconv.ParseUint(prepare, 10, 64)
	if err != nil {
		return Position{}, errors.New("the prepare part of the position is not a number")
	}
	return Position{Commit: c, Prepare: p}, nil
}

// Errors of a Log.
var (
	ErrUnavailable = domain.Refuse(domain.Unavailable, "The event log does not answer")
	ErrTooLarge    = errors.New("the append is larger than the event log accepts")
)

// ConflictError means that a stream was not at the expected revision.
type ConflictError struct {
	Stream   string
	Expected Revision
	Actual   Revision // unless the log does not report it
}

// Error returns the stream and both revisions.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("stream %s is at revision %d, not %d", e.Stream, e.Actual, e.Expected)
}

// EventID returns the id of the index-th event of a command. The same command and index give the same id, so that an
// append can be repeated. It is a UUIDv5 (RFC 9562, 5.5) with the command id as the namespace.
func EventID(command uuid.UUID, index int) uuid.UUID {
	return uuid.NewSHA1(command, []byte(strconv.Itoa(index)))
}

// SkipsStream is the stream with the events that skip other events.
const SkipsStream = "skips"

// Skipped is the value of an event that an operator has skipped. All states and read models ignore it. An event of
// SkipsStream that cannot be decoded is also skipped, because it would keep operators from skipping any other event.
type Skipped struct{}

// skips is a version of the set of skipped events.
type skips struct {
	version int
	streams map[uuid.UUID]string // by event id
}

// Skip replaces the set of events that Decode returns as Skipped, given with their streams. It has to be called before
// the first Decode, and again whenever operators have changed the set.
func (r *Registry) Skip(events map[uuid.UUID]string) {
	r.skips.Store(&skips{version: r.SkipsVersion() + 1, streams: events})
}

// SkipsVersion changes with each Skip. State that was folded at an earlier version must be folded again.
func (r *Registry) SkipsVersion() int { return r.skips.Load().version }

// IsSkipped reports whether an event is skipped.
func (r *Registry) IsSkipped(event uuid.UUID) bool {
	_, skipped := r.skips.Load().streams[event]
	return skipped
}

// SkipsIn reports whether an event of a stream is skipped. A snapshot of such a stream would lack the event
// permanently.
func (r *Registry) SkipsIn(stream string) bool {
	for _, of := range r.skips.Load().streams {
		if of == stream {
			return true
		}
	}
	return false
}

// NameOf returns the name of the type with the event's Go type, or "" if none is registered.
func (r *Registry) NameOf(event any) string { return r.byGo[reflect.TypeOf(event)].name }
