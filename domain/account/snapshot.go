package account

import (
	"slices"
	"time"
)

// SnapshotEvery is the number of events after which a snapshot is taken. It bounds what a load reads.
const SnapshotEvery = 100

// SnapshotTaken repeats the state, so that a load need not read what is older. Keys that were revoked are not in it.
type SnapshotTaken struct {
	Facts
	At time.Time `json:"at"`
}

func (SnapshotTaken) accountEvent() {}

// TakeSnapshot repeats the state when SnapshotEvery events have happened since the last snapshot.
type TakeSnapshot struct{ At time.Time }

// Decide takes a snapshot when one is due.
func (c TakeSnapshot) Decide(s State) ([]Event, error) {
	if s.SinceSnapshot < SnapshotEvery {
		return nil, nil
	}
	return []Event{SnapshotTaken{Facts: s.Facts, At: c.At}}, nil
}

// IsSnapshot reports whether the state can be folded from an event on, without those before it.
func IsSnapshot(event Event) bool {
	_, is := event.(SnapshotTaken)
	return is
}

// ClosedInSnapshot reports what a snapshot says of the closing of the account; is is false for any other event.
func ClosedInSnapshot(event Event) (closed, is bool) {
	snapshot, is := event.(SnapshotTaken)
	return snapshot.Closing != NotClosed, is
}

// withoutClearNames keeps the next snapshot from repeating what an earlier release has written in clear.
func withoutClearNames(keys []Key) []Key {
	keys = slices.Clone(keys)
	for i := range keys {
		keys[i].Name = ""
	}
	return keys
}
