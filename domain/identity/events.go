// Package identity is the aggregate of the streams identity-<id>: a person as an identity provider knows them. An
// identity has at most one account at a time. The id is an HMAC of the provider's issuer and the person's subject
// there, so that the log does not reveal the person.
package identity

import "time"

// StreamPrefix begins the names of the streams of identities. The identity's id follows it.
const StreamPrefix = "identity-"

// Stream returns the name of an identity's stream.
func Stream(id string) string { return StreamPrefix + id }

// Event is one of the events below.
type Event interface{ identityEvent() }

// Claimed records that an identity has an account. It is written before the account is opened, so that the next sign-in
// completes an interrupted opening.
type Claimed struct {
	Identity string `json:"identity"`
	Account  string `json:"account"`
	// the name of the provider in the interface, such as "idp_1"
	Provider string `json:"provider"`
	// the source of the person's visit, as in the link, for SealedForUTMSource
	SealedUTMSource []byte    `json:"sealedUtmSource,omitempty"`
	At              time.Time `json:"at"`
}

// Released records that the identity's account was closed. Another one can be claimed.
type Released struct {
	Identity   string      `json:"identity"`
	Account    string      `json:"account"`
	FreePeriod *FreePeriod `json:"freePeriod,omitempty"` // the account's when it was closed; nil for none
	At         time.Time   `json:"at"`
}

// FreePeriod is the last free period of a closed account. Its identity gets no new characters by closing the account
// and signing in again.
type FreePeriod struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	Used  int64     `json:"used"` // characters
}

// SealedForUTMSource is the purpose for which the source of a visit is sealed.
const SealedForUTMSource = "identity/utm-source"

func (Claimed) identityEvent()  {}
func (Released) identityEvent() {}
