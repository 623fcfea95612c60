package audit

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// history reads past states of a stream.
type history[S, E any] struct {
	stream string
	evolve func(S, E) S
	window uint64 // events in which there usually is a snapshot
}

// past is the state of a stream at a time.
type past[S any] struct {
	state S
	Seen
}

// Seen describes the events from which a state was folded.
type Seen struct {
	Stream   string
	Revision eventlog.Revision // of the last event
	At       time.Time         // of that event
}

// at folds the events of the stream until a time, by the times in their metadata. Events after one with a later time
// are not folded, so that the state is one that the stream has had. It costs about one window of events for a stream of
// any length.
func (h history[S, E]) at(ctx context.Context, j *journal.Journal, until time.Time) (past[S], error) {
	end, err := h.end(ctx, j, until)
	if err != nil {
		return past[S]{}, fmt.Errorf("reading %s as of a time: %w", h.stream, err)
	}
	for window := h.window; ; window *= 4 {
		from := uint64(0)
		if end > window {
			from = end - window
		}
		found, whole, err := h.fold(ctx, j, from, end)
		if err != nil {
			return past[S]{}, fmt.Errorf("reading %s as of a time: %w", h.stream, err)
		}
		if whole || from == 0 {
			return found, nil
		}
	}
}

// end returns the revision of the first event after a time, by bisection.
func (h history[S, E]) end(ctx context.Context, j *journal.Journal, until time.Time) (uint64, error) {
	length := uint64(0)
	for last, err := range j.Log.ReadStreamBackwards(ctx, h.stream) {
		if err != nil {
			return 0, err
		}
		length = last.Revision + 1
		break
	}
	var failed error
	end := sort.Search(int(length), func(revision int) bool {
		if failed != nil {
			return true
		}
		var later bool
		later, failed = h.later(ctx, j, uint64(revision), until)
		return later
	})
	return uint64(end), failed
}

// later reports whether the event of a revision has a time after another one.
func (h history[S, E]) later(ctx context.Context, j *journal.Journal, revision uint64, than time.Time) (bool, error) {
	for recorded, err := range j.Log.ReadStream(ctx, h.stream, revision) {
		if err != nil {
			return false, err
		}
		decoded, err := j.Registry.Decode(recorded)
		if isSkipped(decoded) {
			continue // a skipped event has no time; the next event has
		}
		return decoded.Meta.Time.After(than), unreadable(err)
	}
	return true, nil
}

// fold folds the events of a range of revisions. If it does not begin with the first one, it begins with a snapshot;
// whole is false if there is none.
func (h history[S, E]) fold(
	ctx context.Context, j *journal.Journal, from, end uint64,
) (p past[S], whole bool, err error) {
	p.Seen = Seen{Stream: h.stream, Revision: eventlog.NoStream}
	whole = from == 0
	if from == end {
		return p, whole, nil
	}
	for recorded, err := range j.Log.ReadStream(ctx, h.stream, from) {
		if err != nil {
			return p, false, err
		}
		decoded, err := j.Registry.Decode(recorded)
		if err != nil {
			return p, false, unreadable(err)
		}
		event, ok := decoded.Event.(E)
		if !ok && !isSkipped(decoded) {
			return p, false, fmt.Errorf("event %d is a %s", recorded.Revision, recorded.Type)
		}
		if whole = whole || ok && domain.IsSnapshot(event); whole && ok {
			p.state = h.evolve(p.state, event)
			p.Revision, p.At = eventlog.Revision(recorded.Revision), decoded.Meta.Time
		}
		if recorded.Revision+1 == end {
			break
		}
	}
	return p, whole, nil
}

func isSkipped(event eventlog.Decoded) bool {
	_, skipped := event.Event.(eventlog.Skipped)
	return skipped
}

// unreadable returns the refusal of a history with an event that cannot be decoded.
func unreadable(err error) error {
	if !eventlog.IsUndecodable(err) {
		return err
	}
	return fmt.Errorf("%w: %w", errUnreadable, err)
}

var errUnreadable = domain.Refuse(domain.Unavailable,
	"An event of this account cannot be read by this release; recitalctl projections parked list shows it, and "+
		"parked skip excludes it")
