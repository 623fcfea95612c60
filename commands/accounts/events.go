package accounts

import (
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/internal/eventlog"
)

// Events returns the event types of accounts and their keys.
func Events() []eventlog.Type {
	return append(eventlog.In(account.StreamPrefix,
		eventlog.Define[account.Opened]("account-opened", 1),
		eventlog.Define[account.APIKeyCreated]("account-api-key-created", 1),
		eventlog.Define[account.APIKeyRevoked]("account-api-key-revoked", 1),
		eventlog.Define[account.SnapshotTaken]("account-snapshot-taken", 1),
	), eventlog.In(apikey.StreamPrefix, eventlog.Define[apikey.Issued]("apikey-issued", 1))...)
}
