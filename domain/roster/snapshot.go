package roster

import "time"

// snapshotEvery is the minimum number of events between snapshots. It bounds the length of a load.
const snapshotEvery = 100

// SnapshotTaken repeats the state, so that a load need not read older events.
type SnapshotTaken struct {
	Facts
	At time.Time `json:"at"`
}

func (SnapshotTaken) rosterEvent() {}

// ReplacesState implements domain.Snapshot.
func (SnapshotTaken) ReplacesState() {}

// Snapshot returns a snapshot if one is due. The larger the state, the rarer they are.
func (s State) Snapshot(at time.Time) []Event {
	if s.SinceSnapshot < max(snapshotEvery, (len(s.Places)+len(s.Requests))/10) {
		return nil
	}
	return []Event{SnapshotTaken{Facts: s.Facts, At: at}}
}
