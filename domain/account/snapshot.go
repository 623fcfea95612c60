package account

import (
	"time"
)

// SnapshotEvery is the number of events after which a snapshot is taken. It bounds what a load reads.
const SnapshotEvery = 100

// SnapshotTaken repeats the state, so that a load need not read older events. Keys that were revoked are not in it.
type SnapshotTaken struct {
	Facts
	At time.Time `json:"at"`
}

func (SnapshotTaken) accountEvent() {}

// ReplacesState implements domain.Snapshot.
func (SnapshotTaken) ReplacesState() {}

// Snapshot returns a snapshot if SnapshotEvery events have happened since the last one.
func (s State) Snapshot(at time.Time) []Event {
	if s.SinceSnapshot < SnapshotEvery {
		return nil
	}
	return []Event{SnapshotTaken{Facts: s.Facts, At: at}}
}

// ClosedInSnapshot reports what a snapshot says of the closing of the account; is is false for any other event.
func ClosedInSnapshot(event Event) (closed, is bool) {
	snapshot, is := event.(SnapshotTaken)
	return snapshot.Closing != NotClosed, is
}
