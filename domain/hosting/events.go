// Package hosting is the aggregate of the streams hosting-<account>: an account's connections to the hosting platform,
// and the environment variables that hold its API keys there. Every key that was drawn for a variable is in the stream
// before it exists anywhere else, and until it is removed.
package hosting

import "time"

// Event is one of the events below.
type Event interface{ hostingEvent() }

// Connected gives an account the access of an installation on the platform. It replaces an earlier access of the same
// configuration.
type Connected struct {
	Account      string    `json:"account"`
	Config       string    `json:"config"`       // the platform's id of the configuration
	Installation string    `json:"installation"` // the platform's id
	Team         string    `json:"team"`         // the platform's id; "" for a person's own projects
	Token        []byte    `json:"token"`        // sealed for SealedForToken
	Code         string    `json:"code"`         // SHA-256 of the exchanged code, in hex
	At           time.Time `json:"at"`
}

// VariableBegun records a key that is about to be created, and set in a project.
type VariableBegun struct {
	Account    string    `json:"account"`
	Config     string    `json:"config"`
	Project    string    `json:"project"`    // the platform's id
	SealedName []byte    `json:"sealedName"` // of the project, for SealedForName
	Hash       string    `json:"hash"`       // of the key
	Masked     string    `json:"masked"`     // form of the key
	At         time.Time `json:"at"`
}

// VariableSet records that the platform has the key.
type VariableSet struct {
	Account  string    `json:"account"`
	Hash     string    `json:"hash"`
	Variable string    `json:"variable"` // the platform's id
	At       time.Time `json:"at"`
}

// VariableRemovalBegun records that a variable is about to be removed, and its key deleted.
type VariableRemovalBegun struct {
	Account string    `json:"account"`
	Hash    string    `json:"hash"`
	At      time.Time `json:"at"`
}

// VariableRemoved records that a key is deleted, and its variable removed.
type VariableRemoved struct {
	Account string    `json:"account"`
	Hash    string    `json:"hash"`
	Left    bool      `json:"left"` // the variable may still exist, because the platform no longer grants access to it
	At      time.Time `json:"at"`
}

// Ended records that the account is closed and has no variables left on the platform.
type Ended struct {
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

func (Connected) hostingEvent()            {}
func (VariableBegun) hostingEvent()        {}
func (VariableSet) hostingEvent()          {}
func (VariableRemovalBegun) hostingEvent() {}
func (VariableRemoved) hostingEvent()      {}
func (Ended) hostingEvent()                {}

// StreamPrefix begins the names of the streams. The account's id follows it.
const StreamPrefix = "hosting-"

// Stream returns the name of an account's stream.
func Stream(account string) string { return StreamPrefix + account }

// SealedForToken returns the purpose for which the token of a configuration is sealed.
func SealedForToken(config string) string { return "hosting/" + config }

// SealedForName returns the purpose for which the name of a project is sealed, given the hash of the variable's key.
func SealedForName(hash string) string { return "hosting-project/" + hash }
