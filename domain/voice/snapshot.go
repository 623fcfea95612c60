package voice

import "time"

// SnapshotEvery is the number of events after which a snapshot is taken. It bounds the events that a load reads.
const SnapshotEvery = 100

// SnapshotTaken repeats the state, so that a load need not read older events.
type SnapshotTaken struct {
	Facts
	At time.Time `json:"at"`
}

func (SnapshotTaken) voiceEvent() {}

// ReplacesState implements domain.Snapshot.
func (SnapshotTaken) ReplacesState() {}

// Snapshot returns a snapshot if SnapshotEvery events have happened since the last one.
func (s State) Snapshot(at time.Time) []Event {
	if s.SinceSnapshot < SnapshotEvery {
		return nil
	}
	return []Event{SnapshotTaken{Facts: s.Facts, At: at}}
}
