package journal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Stream describes where an aggregate is stored, and how its state is folded. A load reads backwards to the last
// snapshot (domain.IsSnapshot), so that its cost does not grow with a stream that has snapshots.
type Stream[S, E any] struct {
	Name   string
	Evolve func(S, E) S // returns the state after an event, and does not modify its argument
	// Snapshot returns the events that repeat a state, or none if no snapshot is due. They are appended together with the
	// events that make the snapshot due. Nil means no snapshots, for a short stream.
	Snapshot func(state S, at time.Time) []E
	// IsSnapshot replaces domain.IsSnapshot. It may be nil.
	IsSnapshot func(E) bool
	// Only is the id of the only event that is folded, in a stream of unbounded length with commands that only need to
	// know whether they were executed. The zero id means all events.
	Only uuid.UUID
	// New means that the stream usually does not exist, so that the first command is decided without reading it. If it
	// exists, the append conflicts.
	New bool
}

// Version is the version of a state: the revision and the position of the last event from which it is folded.
type Version struct {
	Revision eventlog.Revision
	Position eventlog.Position
}

// Load returns the state of a stream and its version. The revision of a stream that was never written is NoStream.
func Load[S, E any](ctx context.Context, j *Journal, s Stream[S, E]) (S, Version, error) {
	cached := NewCached(j, s)
	err := cached.Refresh(ctx)
	return cached.state, cached.version, err
}

// load folds the events after a version into a state. It reads backwards to that version, or to a snapshot if that is
// nearer. An event that an operator has skipped does not change the state.
func (s Stream[S, E]) load(ctx context.Context, j *Journal, state S, known Version) (S, Version, error) {
	var newer []E
	version := known
	for recorded, err := range j.Log.ReadStreamBackwards(ctx, s.Name) {
		if err != nil {
			return state, known, fmt.Errorf("reading %s backwards: %w", s.Name, err)
		}
		if eventlog.Revision(recorded.Revision) <= known.Revision {
			break
		}
		if version == known {
			version = Version{Revision: eventlog.Revision(recorded.Revision), Position: recorded.Position}
		}
		if s.Only != uuid.Nil && recorded.ID != s.Only {
			continue
		}
		event, skipped, err := decode[E](j.Registry, recorded)
		if err != nil {
			return state, known, err
		}
		if skipped {
			continue
		}
		newer = append(newer, event)
		if s.Only != uuid.Nil || s.isSnapshot(event) {
			break
		}
	}
	for _, event := range slices.Backward(newer) {
		state = s.Evolve(state, event)
	}
	return state, version, nil
}

func (s Stream[S, E]) isSnapshot(event E) bool {
	if s.IsSnapshot != nil {
		return s.IsSnapshot(event)
	}
	return domain.IsSnapshot(event)
}

// decode returns an event, or reports that an operator has skipped it.
func decode[E any](registry *eventlog.Registry, recorded eventlog.Recorded) (event E, skipped bool, err error) {
	decoded, err := registry.Decode(recorded)
	if err != nil {
		return event, false, fmt.Errorf("decoding event %d of %s: %w", recorded.Revision, recorded.Stream, err)
	}
	if _, skipped := decoded.Event.(eventlog.Skipped); skipped {
		return event, true, nil
	}
	event, ok := decoded.Event.(E)
	if !ok {
		return event, false, fmt.Errorf("event %d of %s is of type %s, which does not belong there", recorded.Revision,
			recorded.Stream, recorded.Type)
	}
	return event, false, nil
}

// Happened reports whether an event that happens at most once is in a stream. It compares types without decoding, so
// that it does not fail at events that cannot be decoded. It reads backwards to a snapshot, from which inSnapshot
// returns the result.
func Happened[E any](
	ctx context.Context, j *Journal, stream string, once E, inSnapshot func(E) (happened, is bool),
) (bool, error) {
	name := j.Registry.NameOf(once)
	for recorded, err := range j.Log.ReadStreamBackwards(ctx, stream) {
		if err != nil {
			return false, fmt.Errorf("reading %s backwards: %w", stream, err)
		}
		if recorded.Type == name {
			return true, nil
		}
		event, skipped, err := decode[E](j.Registry, recorded)
		if err != nil || skipped {
			continue
		}
		if happened, is := inSnapshot(event); is {
			return happened, nil
		}
	}
	return false, nil
}
