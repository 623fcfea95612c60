package accounts

import (
	"encoding/json"
	"fmt"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of accounts and their keys.
func Events() []eventlog.Type {
	return append(eventlog.In(account.StreamPrefix,
		eventlog.Define[account.Opened]("account-opened", 2, openedByAnOperator),
		eventlog.Define[account.APIKeyCreated]("account-api-key-created", 1),
		eventlog.Define[account.APIKeyRenamed]("account-api-key-renamed", 1),
		eventlog.Define[account.APIKeyRevoked]("account-api-key-revoked", 1),
		eventlog.Define[account.ProfileRecorded]("account-profile-recorded", 1),
		eventlog.Define[account.TermsAccepted]("account-terms-accepted", 1),
		eventlog.Define[account.EmailPreferencesSet]("account-email-preferences-set", 1),
		eventlog.Define[account.OperatorGranted]("account-operator-granted", 1),
		eventlog.Define[account.OperatorWithdrawn]("account-operator-withdrawn", 1),
		eventlog.Define[account.Entitled]("account-entitled", 1),
		eventlog.Define[account.SessionsRevoked]("account-sessions-revoked", 1),
		eventlog.Define[account.Closed]("account-closed", 1),
		eventlog.Define[account.Erased]("account-erased", 1),
		eventlog.Define[account.ErasureRepeated]("account-erasure-repeated", 1),
		eventlog.Define[account.SnapshotTaken]("account-snapshot-taken", 3, periodsFromOpening, entitledAsOpened),
	), eventlog.In(apikey.StreamPrefix, eventlog.Define[apikey.Issued]("apikey-issued", 1))...)
}

// openedByAnOperator upcasts version 1 of account-opened, from before there was a sign-in: without identity and free period,
// it reads as it is.
func openedByAnOperator(data json.RawMessage) (json.RawMessage, error) { return data, nil }

// periodsFromOpening upcasts version 1 of account-snapshot-taken: the periods of those accounts count from their opening, and
// all that version 2 has besides had not happened.
func periodsFromOpening(data json.RawMessage) (json.RawMessage, error) {
	var snapshot map[string]json.RawMessage
	if err := json.Unmarshal(data, &snapshot); err != nil {
		return nil, fmt.Errorf("reading a snapshot of version 1: %w", err)
	}
	snapshot["periodsFrom"] = snapshot["openedAt"]
	return json.Marshal(snapshot)
}

// entitledAsOpened upcasts version 2 of account-snapshot-taken, from before there were subscriptions.
func entitledAsOpened(data json.RawMessage) (json.RawMessage, error) {
	var snapshot map[string]json.RawMessage
	if err := json.Unmarshal(data, &snapshot); err != nil {
		return nil, fmt.Errorf("reading a snapshot of version 2: %w", err)
	}
	entitlement, err := json.Marshal(map[string]json.RawMessage{"plan": snapshot["plan"], "start": snapshot["periodsFrom"]})
	if err != nil {
		return nil, fmt.Errorf("reading a snapshot of version 2: %w", err)
	}
	snapshot["entitlement"] = entitlement
	return json.Marshal(snapshot)
}
