package journal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Stream describes where an aggregate is stored, and how its state is folded and loaded.
type Stream[S, E any] struct {
	Name   string
	Evolve func(S, E) S   // returns the state after an event, and does not modify its argument
	Load   Strategy[S, E] // nil means Whole
	// Snapshot returns the command that decides a snapshot if one is due at a time. The snapshot is appended together with
	// the events that make it due. Nil means no snapshots.
	Snapshot func(at time.Time) Decider[S, E]
}

// Strategy brings a loaded state up to date. A state that was not loaded yet has the revision NoStream.
type Strategy[S, E any] func(ctx context.Context, j *Journal, s Stream[S, E], known *loaded[S]) error

// loaded is a state and its version.
type loaded[S any] struct {
	state   S
	version Version
	known   bool // the stream was read
}

// Whole reads the stream forwards, from its beginning or from the version that is known. It is for streams that stay short.
func Whole[S, E any](ctx context.Context, j *Journal, s Stream[S, E], known *loaded[S]) error {
	next := *known
	for recorded, err := range j.Log.ReadStream(ctx, s.Name, uint64(next.version.Revision+1)) {
		if err != nil {
			return fmt.Errorf("reading %s: %w", s.Name, err)
		}
		event, err := decode[E](j.Registry, recorded)
		if err != nil {
			return err
		}
		next.state = s.Evolve(next.state, event)
		next.version = versionOf(recorded)
	}
	next.known = true
	*known = next
	return nil
}

// SinceSnapshot reads backwards to the last snapshot, or to the version that is known if that is nearer, so that the cost
// of a load does not grow with the stream. Evolve must replace the whole state at a snapshot: what was before it is not
// folded.
func SinceSnapshot[S, E any](isSnapshot func(E) bool) Strategy[S, E] {
	return func(ctx context.Context, j *Journal, s Stream[S, E], known *loaded[S]) error {
		next := *known
		var newer []E
		for recorded, err := range j.Log.ReadStreamBackwards(ctx, s.Name) {
			if err != nil {
				return fmt.Errorf("reading %s backwards: %w", s.Name, err)
			}
			if eventlog.Revision(recorded.Revision) <= known.version.Revision {
				break
			}
			event, err := decode[E](j.Registry, recorded)
			if err != nil {
				return err
			}
			if len(newer) == 0 {
				next.version = versionOf(recorded)
			}
			newer = append(newer, event)
			if isSnapshot(event) {
				break
			}
		}
		for _, event := range slices.Backward(newer) {
			next.state = s.Evolve(next.state, event)
		}
		next.known = true
		*known = next
		return nil
	}
}

// OnlyEvent reads backwards to the event of an id, and folds that event only. It is for streams of unbounded length in which
// a command only needs to know whether it was carried out.
func OnlyEvent[S, E any](id uuid.UUID) Strategy[S, E] {
	return func(ctx context.Context, j *Journal, s Stream[S, E], known *loaded[S]) error {
		next := loaded[S]{version: Version{Revision: eventlog.NoStream}, known: true}
		for recorded, err := range j.Log.ReadStreamBackwards(ctx, s.Name) {
			if err != nil {
				return fmt.Errorf("reading %s backwards: %w", s.Name, err)
			}
			if next.version.Revision == eventlog.NoStream {
				next.version = versionOf(recorded)
			}
			if recorded.ID != id {
				continue
			}
			event, err := decode[E](j.Registry, recorded)
			if err != nil {
				return err
			}
			next.state = s.Evolve(next.state, event)
			break
		}
		*known = next
		return nil
	}
}

func versionOf(recorded eventlog.Recorded) Version {
	return Version{Revision: eventlog.Revision(recorded.Revision), Position: recorded.Position}
}

// decode returns an event, or the zero E for one that an operator has skipped.
func decode[E any](registry *eventlog.Registry, recorded eventlog.Recorded) (E, error) {
	var none E
	decoded, err := registry.Decode(recorded)
	if err != nil {
		return none, fmt.Errorf("decoding event %d of %s: %w", recorded.Revision, recorded.Stream, err)
	}
	if _, skipped := decoded.Event.(eventlog.Skipped); skipped {
		return none, nil
	}
	event, ok := decoded.Event.(E)
	if !ok {
		return none, fmt.Errorf("event %d of %s is of type %s, which does not belong there", recorded.Revision, recorded.Stream, recorded.Type)
	}
	return event, nil
}
