// Package identity is the aggregate of the streams identity-<id>: a person as an identity provider knows them. At most
// one account is the identity's at a time. The id is an HMAC of the provider's issuer and the person's subject there,
// so that the log does not reveal who it is.
package identity

import "time"

// StreamPrefix is that of the streams of identities, followed by the identity's id.
const StreamPrefix = "identity-"

// Stream returns the name of an identity's stream.
func Stream(id string) string { return StreamPrefix + id }

// Event is one of the events below.
type Event interface{ identityEvent() }

// Claimed records that an account became the identity's. It is written before the account is opened: the next sign-in
// completes an opening that was cut short.
type Claimed struct {
	Identity string `json:"identity"`
	Account  string `json:"account"`
	// the name of the provider in the interface, such as "idp_1"
	Provider string `json:"provider"`
	// where the person came from, in the words of the link, for SealedForUTMSource
	SealedUTMSource []byte    `json:"sealedUtmSource,omitempty"`
	At              time.Time `json:"at"`
}

// Released records that the identity's account was closed. Another one can be claimed.
type Released struct {
	Identity   string      `json:"identity"`
	Account    string      `json:"account"`
	FreePeriod *FreePeriod `json:"freePeriod,omitempty"` // that of the account when it was closed; nil for none
	At         time.Time   `json:"at"`
}

// FreePeriod is a period of free characters that a closed account has left, so that its identity gets no new ones by
// closing and signing in again.
type FreePeriod struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	Used  int64     `json:"used"` // characters
}

// SealedForUTMSource is what the words of a link are sealed for.
const SealedForUTMSource = "identity/utm-source"

func (Claimed) identityEvent()  {}
func (Released) identityEvent() {}
