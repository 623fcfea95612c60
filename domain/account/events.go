// Package account is the aggregate of stream account-<id>: an account's plan, its API keys, its profile, its owner's
// consents, and its closing.
package account

import (
	"time"

	"github.com/recital-tts/recital/domain/plan"
)

// Event is one of the events below, or SnapshotTaken.
type Event interface{ accountEvent() }

// Opened begins an account.
type Opened struct {
	Account string    `json:"account"`
	Plan    plan.Type `json:"plan"`
	// of the person who opened it by signing in: an HMAC in hex; "" if an operator opened it
	Identity   string      `json:"identity"`
	FreePeriod *FreePeriod `json:"freePeriod"` // of the person's closed account; null without one
	At         time.Time   `json:"at"`
}

// Profile is an owner's profile at an identity provider.
type Profile struct {
	Name    string
	Email   string
	Picture string // an address; "" for none
}

// FreePeriod is a period of a closed free account. The next account of the same person counts its periods from the same
// start, and begins with the same usage.
type FreePeriod struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`  // the start of the next period
	Used  int64     `json:"used"` // characters
}

// APIKeyCreated gives an account a key. The key itself is not stored, only its hash.
type APIKeyCreated struct {
	Account    string    `json:"account"`
	Hash       string    `json:"hash"`                 // SHA-256 of the key, in hex
	Masked     string    `json:"masked"`               // unique among the account's keys, and the key's address
	SealedName []byte    `json:"sealedName,omitempty"` // for ForKeyName; empty without a name
	At         time.Time `json:"at"`
}

// APIKeyRevoked ends a key permanently.
type APIKeyRevoked struct {
	Account string    `json:"account"`
	Hash    string    `json:"hash"`
	Masked  string    `json:"masked"` // of the revoked key; a later key may have the same
	At      time.Time `json:"at"`
}

// APIKeyRenamed gives a key another name.
type APIKeyRenamed struct {
	Account    string    `json:"account"`
	Hash       string    `json:"hash"`
	Masked     string    `json:"masked"`
	SealedName []byte    `json:"sealedName"` // for ForKeyName
	At         time.Time `json:"at"`
}

// ProfileRecorded records the owner's profile at the identity provider. Each field is sealed with the account's key for
// the purpose named beside it; empty if the provider has no value.
type ProfileRecorded struct {
	Account   string    `json:"account"`
	Name      []byte    `json:"name"`      // for ForName
	Email     []byte    `json:"email"`     // for ForEmail
	Picture   []byte    `json:"picture"`   // an address, for ForPicture
	EmailHash string    `json:"emailHash"` // HMAC of the e-mail address, in hex, for look-ups
	Digest    string    `json:"digest"`    // HMAC of the profile, in hex: equal for an equal profile
	At        time.Time `json:"at"`
}

// TermsAccepted records that the owner accepts the terms of service.
type TermsAccepted struct {
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// EmailPreferencesSet records whether the owner wants e-mail.
type EmailPreferencesSet struct {
	Account    string    `json:"account"`
	WantsEmail bool      `json:"wantsEmail"`
	At         time.Time `json:"at"`
}

// OperatorGranted gives the account the role of an operator.
type OperatorGranted struct {
	Account string    `json:"account"`
	By      string    `json:"by"` // the operator's name in the token file; "" for the only one
	At      time.Time `json:"at"`
}

// OperatorWithdrawn withdraws the role of an operator.
type OperatorWithdrawn struct {
	Account string    `json:"account"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// SessionsRevoked ends all sessions that were opened until then.
type SessionsRevoked struct {
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// Closed ends the account permanently. Its keys were revoked just before. Its subscriptions are ended and its data is
// erased afterwards.
type Closed struct {
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// Erased records that the data of a closed account is erased and its key destroyed: sealed fields are unreadable.
type Erased struct {
	Account string    `json:"account"`
	AgainAt time.Time `json:"againAt"` // when the erasure is repeated, for requests that were still running
	At      time.Time `json:"at"`
}

// ErasureRepeated ends the closing. Requests that were running when the account was closed have ended before it.
type ErasureRepeated struct {
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// Entitled puts the account on the plan of its subscription. Start is never before the start of the current period.
type Entitled struct {
	Account string `json:"account"`
	plan.Entitlement
	Revision int64     `json:"revision"` // of the subscription's event that it follows, in that stream
	Version  int64     `json:"version"`  // number of the account's entitlement, from 1
	At       time.Time `json:"at"`
}

// Purposes for which the fields of a profile are sealed.
const (
	ForName    = "profile/name"
	ForEmail   = "profile/email"
	ForPicture = "profile/picture"
)

// ForKeyName returns the purpose for which the name of an API key, given by its hash, is sealed.
func ForKeyName(hash string) string { return "api-key/" + hash + "/name" }

func (Opened) accountEvent()              {}
func (APIKeyCreated) accountEvent()       {}
func (APIKeyRenamed) accountEvent()       {}
func (APIKeyRevoked) accountEvent()       {}
func (ProfileRecorded) accountEvent()     {}
func (TermsAccepted) accountEvent()       {}
func (EmailPreferencesSet) accountEvent() {}
func (OperatorGranted) accountEvent()     {}
func (OperatorWithdrawn) accountEvent()   {}
func (SessionsRevoked) accountEvent()     {}
func (Entitled) accountEvent()            {}
func (Closed) accountEvent()              {}
func (Erased) accountEvent()              {}
func (ErasureRepeated) accountEvent()     {}
