package ledger

import (
	"slices"
	"time"
)

// SnapshotEvery is the number of events after which a snapshot is taken, which bounds the length of a load.
const SnapshotEvery = 1000

// maxInSnapshot bounds the size of a snapshot: while more reservations are open, no snapshot is taken.
const maxInSnapshot = 2000

// TakeSnapshot repeats the state if the last snapshot is too far back.
type TakeSnapshot struct{ At time.Time }

// Decide takes a snapshot after SnapshotEvery events. A period that is over needs none: only what
// is still open follows its end.
func (c TakeSnapshot) Decide(s State) ([]Event, error) {
	if s.SinceSnapshot < SnapshotEvery || len(s.Open) > maxInSnapshot || s.Over() {
		return nil, nil
	}
	events := []Event{SnapshotTaken{PeriodOpened: s.Terms, Characters: s.Settled, Reservations: slices.Clone(s.Open), At: c.At}}
	if len(s.Grants) > 0 {
		events = append(events, CreditSnapshotTaken{Account: s.Terms.Account, Grants: slices.Clone(s.Grants), At: c.At})
	}
	return events, nil
}

// IsSnapshot reports whether the state can be folded from an event on, without the events before it.
func IsSnapshot(event Event) bool {
	_, is := event.(SnapshotTaken)
	return is
}
