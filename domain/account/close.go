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
	if at.Before(s.SessionsRevokedAt) { // another instance's clock was ahead; ended sessions stay ended
		at = s.SessionsRevokedAt
	}
	return []Event{SessionsRevoked{Account: s.Account, At: at}}, nil
}

// Close closes an account permanently and revokes its keys. Closing it again has no effect.
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

// RecordErasure records that the data of a closed account is erased, including its key, and when the erasure is
// repeated. Recording it again has no effect.
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

// RecordRepeatedErasure records that the data of a closed account was erased again. It has no effect before the
// repetition is due, or a second time.
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
