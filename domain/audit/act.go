package audit

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// ActStreamPrefix begins the names of the streams of acts. The act's id follows it. Each act has a stream of its own,
// as each read has.
const ActStreamPrefix = "audit-acts-"

// The kinds of acts.
const (
	ActRebuild       = "projections-rebuild"
	ActPromote       = "projections-promote"
	ActRollback      = "projections-rollback"
	ActRetire        = "projections-retire"
	ActRetry         = "parked-retry"
	ActCopyLog       = "log-copy"
	ActCopyBlobs     = "blobs-copy"
	ActCopyKeyring   = "keyring-copy"
	ActImportKeyring = "keyring-import"
	ActDrain         = "drain"
	ActInstallVoice  = "voice-install"
	ActTestVoice     = "voice-test"
	ActRemoveVoice   = "voice-remove"
	ActAssignVoice   = "voice-assign"
)

// ActStream returns the name of an act's stream.
func ActStream(id string) string { return ActStreamPrefix + id }

// OperatorActed records that an operator or auditor is about to change or copy something that no other event records.
// Its metadata names them, and their reason.
type OperatorActed struct {
	Act     string    `json:"act"`               // id
	Kind    string    `json:"kind"`              // such as projections-rebuild
	Subject string    `json:"subject,omitempty"` // the object of the act: names of read models, a folder
	At      time.Time `json:"at"`
}

func (OperatorActed) auditEvent() {}

// ActState reports whether an act is recorded.
type ActState struct{ Recorded bool }

// EvolveAct returns the state after an event.
func EvolveAct(s ActState, event Event) ActState {
	if _, ok := event.(OperatorActed); ok {
		s.Recorded = true
	}
	return s
}

// RecordAct records an act. Recording it again has no effect.
type RecordAct OperatorActed

// Decide refuses an act without a kind.
func (c RecordAct) Decide(s ActState) ([]Event, error) {
	switch {
	case s.Recorded:
		return nil, nil
	case c.Kind == "":
		return nil, domain.Refuse(domain.Invalid, "An act has a kind")
	}
	return []Event{OperatorActed(c)}, nil
}
