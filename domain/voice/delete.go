package voice

import "time"

// Delete deletes an account's voice, and cancels the work on it.
type Delete struct {
	Account string
	At      time.Time
}

// Decide refuses a voice that the account does not have.
func (c Delete) Decide(s State) ([]Event, error) {
	if err := s.RequireOf(c.Account); err != nil {
		return nil, err
	}
	deleted := Deleted{Voice: s.Voice, Account: s.Account, At: c.At}
	if s.Unfinished() {
		return []Event{Cancelled{Voice: s.Voice, Account: s.Account, At: c.At}, deleted}, nil
	}
	return []Event{deleted}, nil
}

// RecordErasure records that a deleted voice is completely removed.
type RecordErasure struct{ At time.Time }

// Decide records it once.
func (c RecordErasure) Decide(s State) ([]Event, error) {
	if !s.Deleted || s.Erased {
		return nil, nil
	}
	return []Event{Erased{Voice: s.Voice, Account: s.Account, At: c.At}}, nil
}

// End ends a voice of a closed account from any state in one step, after its blobs were removed.
type End struct {
	Voice   string
	Account string
	At      time.Time
}

// Decide returns no event for a voice that has ended.
func (c End) Decide(s State) ([]Event, error) {
	if s.Phase == "" {
		return Abandon(c).Decide(s)
	}
	var ended []Event
	if s.Exists() {
		var err error
		if ended, err = (Delete{Account: c.Account, At: c.At}).Decide(s); err != nil {
			return nil, err
		}
	}
	if s.Erased {
		return nil, nil
	}
	return append(ended, Erased{Voice: s.Voice, Account: s.Account, At: c.At}), nil
}
