package ledger

import (
	"slices"
	"time"
)

// SnapshotEvery is the number of events after which a snapshot is taken. It bounds the length of a load.
const SnapshotEvery = 1000

// maxInSnapshot bounds the size of a snapshot: while more reservations are open, no snapshot is taken.
const maxInSnapshot = 2000

// Snapshot returns a snapshot if SnapshotEvery events have happened since the last one. A period that is over needs
// none: only the ends of open reservations follow.
func (s State) Snapshot(at time.Time) []Event {
	if s.SinceSnapshot < SnapshotEvery || len(s.Open) > maxInSnapshot || s.Over() {
		return nil
	}
	events := []Event{SnapshotTaken{
		PeriodOpened: s.Terms, Characters: s.Settled, Reservations: slices.Clone(s.Open), Overages: slices.Clone(s.Overages),
		At: at, Cap: s.Cap, Rate: s.Rate,
	}}
	if len(s.Grants) > 0 {
		events = append(events, CreditSnapshotTaken{Account: s.Terms.Account, Grants: slices.Clone(s.Grants), At: at})
	}
	return events
}

// ReplacesState implements domain.Snapshot.
func (SnapshotTaken) ReplacesState() {}
