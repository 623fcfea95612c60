package eventnode

import (
	"time"

	"github.com/google/uuid"
)

// expectation is the revision at which an append expects its stream: a revision, noStream, or one of the following.
type expectation = int64

const (
	expectAny          expectation = -2
	expectStreamExists expectation = -4
)

// verdict is the result of the checks of an append.
type verdict int

const (
	accepted     verdict = iota // to be written
	repeated                    // written before: answer as then
	wrongVersion                // the stream is at another revision
	deleted                     // the stream is deleted for the append's purpose
)

// decision is a verdict with the facts for the response.
type decision struct {
	verdict  verdict
	current  int64  // revision of the stream's last event
	last     int64  // of repeated: revision of the append's last event
	position uint64 // of repeated: its position, 0 if readers no longer see it
	recreate bool   // of accepted: the stream is soft-deleted and will be recreated
}

// decide applies the rules of EventStoreDB 24.6 (IndexWriter.CheckCommit).
func decide(view *view, stream string, expected expectation, ids []uuid.UUID) (decision, error) {
	current, err := view.lastRevision(stream)
	if err != nil {
		return decision{}, err
	}
	if current == tombstoneRevision {
		return decision{verdict: deleted, current: current}, nil
	}
	visible, err := view.retention(stream)
	if err != nil {
		return decision{}, err
	}
	d := decision{verdict: accepted, current: current, recreate: visible.softDeleted()}
	switch expected {
	case expectStreamExists:
		return decideExists(view, stream, d, visible, ids)
	case expectAny:
		return decideByRecent(view, stream, d, visible, ids), nil
	case current:
		return d, nil
	default:
		return decideRepeat(view, stream, expected, d, visible, ids)
	}
}

// repeat returns the decision for an append that was written before and ended with the event.
func (d decision) repeat(last knownEvent, visible retention) decision {
	d.verdict, d.last = repeated, last.revision
	if visible.shows(last, d.current, time.Now()) {
		d.position = last.position
	}
	return d
}

// decideExists: a soft-deleted stream does not exist; one without events does if it has metadata.
func decideExists(view *view, stream string, d decision, visible retention, ids []uuid.UUID) (decision, error) {
	if d.recreate {
		return decision{verdict: deleted, current: d.current}, nil
	}
	if d.current == noStream {
		last, err := view.lastRevision(metadataStream(stream))
		if err != nil {
			return decision{}, err
		}
		if last == noStream {
			return decision{verdict: wrongVersion, current: noStream}, nil
		}
	}
	return decideByRecent(view, stream, d, visible, ids), nil
}

// decideByRecent: without an exact revision a repeat is recognised only by recent ids, and by the first place of each.
// A first event that is not among them means a new append; a later one means that two appends share events.
func decideByRecent(view *view, stream string, d decision, visible retention, ids []uuid.UUID) decision {
	if len(ids) == 0 {
		return d
	}
	var last knownEvent
	for i, id := range ids {
		known, found := view.recent(id)
		if !found || known.stream != stream {
			if i > 0 {
				return decision{verdict: wrongVersion, current: d.current}
			}
			return d
		}
		last = known
	}
	return d.repeat(last, visible)
}

// decideRepeat: an append at an earlier revision is a repeat if exactly its events follow there. A soft-deleted
// stream also counts as one that does not exist.
func decideRepeat(
	view *view, stream string, expected expectation, d decision, visible retention, ids []uuid.UUID,
) (decision, error) {
	wrong := decision{verdict: wrongVersion, current: d.current}
	if expected > d.current || len(ids) == 0 {
		return wrong, nil
	}
	var last knownEvent
	for i, want := range ids {
		event, found, err := view.eventAt(stream, expected+1+int64(i))
		switch {
		case err != nil:
			return decision{}, err
		case found && event.id == want:
			last = event
		case i == 0 && expected == noStream && d.recreate:
			return d, nil
		default:
			return wrong, nil
		}
	}
	return d.repeat(last, visible), nil
}
