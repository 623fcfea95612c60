package subscription

// RecordCollected records that an outstanding amount was charged to the card of a subscription that was paid.
type RecordCollected Collected

// Decide always records the collection. The state does not change, because a repeated collection finds the amount paid.
func (c RecordCollected) Decide(State) ([]Event, error) { return []Event{Collected(c)}, nil }
