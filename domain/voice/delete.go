package voice

import "time"

// Delete deletes an account's voice, and cancels what is being done to make it.
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

// RecordErasure records that nothing of a deleted voice is left.
type RecordErasure struct{ At time.Time }

// Decide records it once.
func (c RecordErasure) Decide(s State) ([]Event, error) {
	if !s.Deleted || s.Erased {
		return nil, nil
	}
	return []Event{Erased{Voice: s.Voice, Account: s.Account, At: c.At}}, nil
}

// End brings a voice of a closed account, whose blobs are removed, to its end at once, whatever it was.
type End struct {
	Voice   string
	Account string
	At      time.Time
}

// Decide decides nothing for a voice that has ended.
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
