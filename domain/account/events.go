// Package account is the aggregate of stream account-<id>: the plan that an account is on and its API keys.
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
	At      time.Time `json:"at"` // the monthly periods of a free account count from here
}

// APIKeyCreated gives an account a key. The key itself is nowhere: only its hash is kept.
type APIKeyCreated struct {
	Account string    `json:"account"`
	Hash    string    `json:"hash"`   // SHA-256 of the key, in hex
	Masked  string    `json:"masked"` // unique among the account's keys; the key is addressed by it
	Name    string    `json:"name,omitempty"`
	Issued  bool      `json:"issued,omitempty"` // the stream of the key names the account; earlier releases did not write it
	At      time.Time `json:"at"`
}

// APIKeyRevoked ends a key for good.
type APIKeyRevoked struct {
	Account string    `json:"account"`
	Hash    string    `json:"hash"`
	Masked  string    `json:"masked"` // of the revoked key; a later key may look the same
	At      time.Time `json:"at"`
}

func (Opened) accountEvent()        {}
func (APIKeyCreated) accountEvent() {}
func (APIKeyRevoked) accountEvent() {}
