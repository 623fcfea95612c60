package accounts

import (
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of accounts and their keys.
func Events() []eventlog.Type {
	return append(eventlog.In(account.StreamPrefix,
		eventlog.Define[account.Opened]("account-opened", 1),
		eventlog.Define[account.APIKeyCreated]("account-api-key-created", 1),
		eventlog.Define[account.APIKeyRenamed]("account-api-key-renamed", 1),
		eventlog.Define[account.APIKeyRevoked]("account-api-key-revoked", 1),
		eventlog.Define[account.ProfileRecorded]("account-profile-recorded", 1),
		eventlog.Define[account.TermsAccepted]("account-terms-accepted", 1),
		eventlog.Define[account.EmailPreferencesSet]("account-email-preferences-set", 1),
		eventlog.Define[account.OperatorGranted]("account-operator-granted", 1),
		eventlog.Define[account.OperatorWithdrawn]("account-operator-withdrawn", 1),
		eventlog.Define[account.SpendingCapSet]("account-spending-cap-set", 1),
		eventlog.Define[account.Entitled]("account-entitled", 1),
		eventlog.Define[account.SessionsRevoked]("account-sessions-revoked", 1),
		eventlog.Define[account.Closed]("account-closed", 1),
		eventlog.Define[account.Erased]("account-erased", 1),
		eventlog.Define[account.ErasureRepeated]("account-erasure-repeated", 1),
		eventlog.Define[account.SnapshotTaken]("account-snapshot-taken", 1),
	), eventlog.In(apikey.StreamPrefix, eventlog.Define[apikey.Issued]("apikey-issued", 1))...)
}
