package hosting

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// MaxConnections is the maximum number of connections of an account.
const MaxConnections = 20

// Refusals.
var (
	ErrNotConnected error = domain.Refuse(domain.NotFound, "The configuration is not connected; connect it with a code")
	ErrUnderway     error = domain.Refuse(domain.Conflict, "The project is being changed; try again in half a minute")

	errEnded     = domain.Refuse(domain.Rejected, "The account is closed")
	errTooMany   = domain.Refuse(domain.Denied, "The account has 20 connections, the most it can have")
	errRemaining = domain.Refuse(domain.Conflict, "The account has variables at the hosting platform")
)

// Connect records an access to the platform.
type Connect Connected

// Decide refuses too many connections.
func (c Connect) Decide(s State) ([]Event, error) {
	_, known := s.Connections[c.Config]
	switch {
	case s.Ended:
		return nil, errEnded
	case !known && len(s.Connections) >= MaxConnections:
		return nil, errTooMany
	}
	return []Event{Connected(c)}, nil
}

// Begin records the key that is about to be set in a project.
type Begin struct {
	VariableBegun
	Instead string // hash of the key that it replaces, which is deleted; "" for none
}

// Decide refuses while the project has a variable other than the one to be replaced, or while a request may be changing
// that variable.
func (c Begin) Decide(s State) ([]Event, error) {
	if s.Ended {
		return nil, errEnded
	}
	if _, known := s.Connections[c.Config]; !known {
		return nil, ErrNotConnected
	}
	old, _ := s.Variable(c.Config, c.Project)
	if old.Hash != c.Instead || old.Rest(c.At) > 0 {
		return nil, ErrUnderway
	}
	if old.Hash == "" {
		return []Event{c.VariableBegun}, nil
	}
	return []Event{VariableRemoved{Account: s.Account, Hash: old.Hash, At: c.At}, c.VariableBegun}, nil
}

// Set records that the platform has the key with a hash.
type Set struct {
	Hash     string
	Variable string
	At       time.Time
}

// Decide refuses a variable that was removed, or is about to be.
func (c Set) Decide(s State) ([]Event, error) {
	v, found := s.byHash(c.Hash)
	switch {
	case !found, v.Removing:
		return nil, ErrUnderway
	case v.ID == c.Variable:
		return nil, nil
	}
	return []Event{VariableSet{Account: s.Account, Hash: c.Hash, Variable: c.Variable, At: c.At}}, nil
}

// BeginRemoval records that the variable of a key is about to be removed.
type BeginRemoval struct {
	Hash string
	At   time.Time
}

// Decide refuses while a request may be setting the variable.
func (c BeginRemoval) Decide(s State) ([]Event, error) {
	v, found := s.byHash(c.Hash)
	switch {
	case !found, v.Removing:
		return nil, nil
	case v.Rest(c.At) > 0:
		return nil, ErrUnderway
	}
	return []Event{VariableRemovalBegun{Account: s.Account, Hash: c.Hash, At: c.At}}, nil
}

// Remove records that a key is deleted, and its variable removed, unless it was Left.
type Remove struct {
	Hash string
	Left bool
	At   time.Time
}

// Decide has no effect on a variable that was removed before.
func (c Remove) Decide(s State) ([]Event, error) {
	if _, found := s.byHash(c.Hash); !found {
		return nil, nil
	}
	return []Event{VariableRemoved{Account: s.Account, Hash: c.Hash, Left: c.Left, At: c.At}}, nil
}

// End records that the account has no variables left at the platform, and can set no others.
type End struct{ At time.Time }

// Decide refuses while there are variables.
func (c End) Decide(s State) ([]Event, error) {
	switch {
	case s.Account == "", s.Ended:
		return nil, nil
	case len(s.Variables) > 0:
		return nil, errRemaining
	}
	return []Event{Ended{Account: s.Account, At: c.At}}, nil
}
