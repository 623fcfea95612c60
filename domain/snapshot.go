package domain

// Snapshot is an event that replaces the whole state of its aggregate, so that a load need not read older events.
type Snapshot interface{ ReplacesState() }

// IsSnapshot reports whether an event is a Snapshot.
func IsSnapshot(event any) bool {
	_, is := event.(Snapshot)
	return is
}
