// Package account is the aggregate of stream account-<id>: an account's plan, its API keys and its profile, what its
// owner has agreed to, and its closing.
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
	// of the person who opened it by signing in: an HMAC in hex; "" where an operator did
	Identity   string      `json:"identity"`
	FreePeriod *FreePeriod `json:"freePeriod"` // that the person's closed account was in; null without one
	At         time.Time   `json:"at"`
}

// FreePeriod is a period of a closed free account. The next account of the same person counts its periods from its
// start, and has used as much of it.
type FreePeriod struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`  // the start of the next period
	Used  int64     `json:"used"` // characters
}

// APIKeyCreated gives an account a key. The key itself is nowhere: only its hash is kept.
type APIKeyCreated struct {
	Account    string    `json:"account"`
	Hash       string    `json:"hash"`                 // SHA-256 of the key, in hex
	Masked     string    `json:"masked"`               // unique among the account's keys; the key is addressed by it
	SealedName []byte    `json:"sealedName,omitempty"` // for ForKeyName; empty where none was given
	At         time.Time `json:"at"`
}

// APIKeyRevoked ends a key for good.
type APIKeyRevoked struct {
	Account string    `json:"account"`
	Hash    string    `json:"hash"`
	Masked  string    `json:"masked"` // of the revoked key; a later key may look the same
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

// ProfileRecorded holds what the identity provider says about the account's owner. Each field is sealed with the
// account's key, for the use that is named; empty where the provider says nothing.
type ProfileRecorded struct {
	Account   string    `json:"account"`
	Name      []byte    `json:"name"`      // for ForName
	Email     []byte    `json:"email"`     // for ForEmail
	Picture   []byte    `json:"picture"`   // an address, for ForPicture
	EmailHash string    `json:"emailHash"` // HMAC of the e-mail address, in hex, for look-ups
	Digest    string    `json:"digest"`    // HMAC of all of it, in hex: equal to the last one where nothing has changed
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

// OperatorWithdrawn takes the role of an operator away.
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

// Closed ends the account for good. Its keys were revoked just before. What belongs to it is ended and erased
// afterwards.
type Closed struct {
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// Erased records that what belonged to a closed account is erased and that its key is destroyed: whatever was sealed
// with it is unreadable.
type Erased struct {
	Account string    `json:"account"`
	AgainAt time.Time `json:"againAt"` // when it is erased again, because of requests that were still running
	At      time.Time `json:"at"`
}

// ErasureRepeated ends the closing: nothing that was running when the account was closed can have left anything.
type ErasureRepeated struct {
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// Entitled puts the account on a plan, because of its subscription. Start is never before that of the period in which
// it comes.
type Entitled struct {
	Account string `json:"account"`
	plan.Entitlement
	Revision int64     `json:"revision"` // of the subscription's event that it follows, in that stream
	Version  int64     `json:"version"`  // counts the entitlements of the account, from 1
	At       time.Time `json:"at"`
}

// What the fields of a profile are sealed for.
const (
	ForName    = "profile/name"
	ForEmail   = "profile/email"
	ForPicture = "profile/picture"
)

// ForKeyName returns what the name of an API key, given by its hash, is sealed for.
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
