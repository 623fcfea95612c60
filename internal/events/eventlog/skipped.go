package eventlog

import (
	"reflect"

	"github.com/google/uuid"
)

// SkipsStream is the stream of the events that operators have skipped.
const SkipsStream = "skips"

// Skipped is the value of an event that an operator has skipped: no state and no read model takes it into account. An
// event of SkipsStream that cannot be decoded is skipped, too, because no other event could be skipped before it was.
type Skipped struct{}

// skips are the events that are skipped at one time.
type skips struct {
	version int
	streams map[uuid.UUID]string // by event
}

// Skip replaces the events that Decode returns as Skipped, which are given with their streams. It is called before
// anything is decoded, and again whenever operators have changed them.
func (r *Registry) Skip(events map[uuid.UUID]string) {
	r.skips.Store(&skips{version: r.SkipsVersion() + 1, streams: events})
}

// SkipsVersion is another one after each Skip. A state that was folded at an earlier version must be folded again.
func (r *Registry) SkipsVersion() int { return r.skips.Load().version }

// IsSkipped reports whether an event is skipped.
func (r *Registry) IsSkipped(event uuid.UUID) bool {
	_, skipped := r.skips.Load().streams[event]
	return skipped
}

// SkipsIn reports whether an event of a stream is skipped. A snapshot of such a stream would lack it for good.
func (r *Registry) SkipsIn(stream string) bool {
	for _, of := range r.skips.Load().streams {
		if of == stream {
			return true
		}
	}
	return false
}

// NameOf returns the name of the type whose Go value is given, "" where none is registered.
func (r *Registry) NameOf(event any) string { return r.byGo[reflect.TypeOf(event)].name }
