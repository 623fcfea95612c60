package account

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// RevokeSessions ends all sessions that were opened until now.
type RevokeSessions struct{ At time.Time }

// Decide refuses an account that is not open.
func (c RevokeSessions) Decide(s State) ([]Event, error) {
	if err := s.requireOpen(); err != nil {
		return nil, err
	}
	at := c.At
	if at.Before(s.SessionsRevokedAt) { // by a clock that is ahead of ours: what it has ended does not come back
		at = s.SessionsRevokedAt
	}
	return []Event{SessionsRevoked{Account: s.Account, At: at}}, nil
}

// Close closes an account for good and revokes its keys. Closing it again changes nothing.
type Close struct{ At time.Time }

// Decide refuses an account that does not exist.
func (c Close) Decide(s State) ([]Event, error) {
	if !s.Exists() {
		return nil, ErrNoAccount
	}
	if s.Closed() {
		return nil, nil
	}
	var events []Event
	for _, key := range s.Keys {
		events = append(events, revoked(s.Account, key, c.At))
	}
	return append(events, Closed{Account: s.Account, At: c.At}), nil
}

var errNotClosed = domain.Refuse(domain.Rejected, "The account is not closed")

// RecordErasure records that what belonged to a closed account is erased, its key included, and when it is erased
// again. Recording it again changes nothing.
type RecordErasure struct{ At, AgainAt time.Time }

// Decide refuses an account that is not closed.
func (c RecordErasure) Decide(s State) ([]Event, error) {
	switch s.Closing {
	case NotClosed:
		return nil, errNotClosed
	case Ending:
		return []Event{Erased{Account: s.Account, AgainAt: c.AgainAt, At: c.At}}, nil
	}
	return nil, nil
}

// RecordRepeatedErasure records that what belonged to a closed account was erased again. Before it is due, and a second
// time, it changes nothing.
type RecordRepeatedErasure struct{ At time.Time }

// Decide refuses an account that was not erased before.
func (c RecordRepeatedErasure) Decide(s State) ([]Event, error) {
	switch {
	case s.Closing == ErasedForAll, s.Closing == ErasedOnce && c.At.Before(s.EraseAgainAt):
		return nil, nil
	case s.Closing == ErasedOnce:
		return []Event{ErasureRepeated{Account: s.Account, At: c.At}}, nil
	}
	return nil, errNotClosed
}
