package roster

import "time"

// snapshotEvery is the least number of events after which a snapshot is taken. It bounds what a load reads.
const snapshotEvery = 100

// SnapshotTaken repeats the state, so that a load need not read what is older.
type SnapshotTaken struct {
	Facts
	At time.Time `json:"at"`
}

// TakeSnapshot repeats the state from time to time: the larger it is, the more rarely.
type TakeSnapshot struct{ At time.Time }

// Decide takes a snapshot when one is due.
func (c TakeSnapshot) Decide(s State) ([]Event, error) {
	if s.SinceSnapshot < max(snapshotEvery, (len(s.Places)+len(s.Requests))/10) {
		return nil, nil
	}
	return []Event{SnapshotTaken{Facts: s.Facts, At: c.At}}, nil
}

// IsSnapshot reports whether the state can be folded from an event on, without those before it.
func IsSnapshot(event Event) bool {
	_, is := event.(SnapshotTaken)
	return is
}
