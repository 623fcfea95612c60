package subscription

// RecordCollected records that what was owed was charged to the card of a subscription that was paid.
type RecordCollected Collected

// Decide refuses nothing. The state does not remember it, because whatever is collected again is paid already.
func (c RecordCollected) Decide(State) ([]Event, error) { return []Event{Collected(c)}, nil }
