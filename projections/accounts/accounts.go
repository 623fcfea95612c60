// Package accounts holds the read models of accounts and their API keys.
package accounts

import (
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/projections"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{
		{
			Model:   readmodel.Account,
			Streams: eventlog.Streams{account.StreamPrefix, subscription.StreamPrefix, roster.StreamPrefix},
			Tables: []*table.Table{
				accounts.Table, keys.Table, profiles.Table, entitlements.Table, due.Table, subscriptions.Table,
			},
			Views: []readmodel.View{
				accounts.View, keys.View, profiles.View, entitlements.View, subscriptions.View,
				readmodel.ToDoEntitleView.View,
			},
			Handle: handle,
		},
		{
			Model:   readmodel.Closings,
			Streams: eventlog.Streams{account.StreamPrefix},
			Tables:  []*table.Table{closings.Table},
			Views:   []readmodel.View{closings.View},
			Handle:  handleClosing,
		},
	}
}

var (
	accounts = readmodel.AccountsView
	keys     = readmodel.APIKeysView
	profiles = readmodel.ProfilesView
	closings = readmodel.ToDoCloseAccountView

	accepted   = accounts.Fields("accepted_tos")
	wantsEmail = accounts.Fields("wants_email")
	operator   = accounts.Fields("operator")
	voices     = accounts.Fields("instant_voices", "professional_voices")
	keyName    = keys.Fields("sealed_name")
)

func handle(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case account.Opened:
		accounts.Put(rows, openedRow(e))
	case account.TermsAccepted:
		accepted.Set(rows, readmodel.AccountRow{Account: e.Account, AcceptedTOS: true})
	case account.EmailPreferencesSet:
		wantsEmail.Set(rows, readmodel.AccountRow{Account: e.Account, WantsEmail: &e.WantsEmail})
	case account.OperatorGranted:
		operator.Set(rows, readmodel.AccountRow{Account: e.Account, Operator: true})
	case account.OperatorWithdrawn:
		operator.Set(rows, readmodel.AccountRow{Account: e.Account, Operator: false})
	case account.APIKeyCreated:
		keys.Put(rows, readmodel.APIKeyRow{
			Hash: e.Hash, Account: e.Account, Masked: e.Masked, SealedName: e.SealedName, CreatedAt: e.At,
		})
	case account.APIKeyRenamed:
		keyName.Set(rows, readmodel.APIKeyRow{Hash: e.Hash, SealedName: e.SealedName})
	case account.APIKeyRevoked:
		keys.Delete(rows, readmodel.APIKeyRow{Hash: e.Hash})
	case account.ProfileRecorded:
		profiles.Put(rows, readmodel.ProfileRow{
			Account: e.Account, Name: e.Name, Email: e.Email, Picture: e.Picture, EmailHash: e.EmailHash,
		})
	case roster.PlaceTaken:
		countVoices(rows, e.Account, e.Type, 1)
	case roster.PlaceFreed:
		countVoices(rows, e.Account, e.Type, -1)
	case account.Closed: // its keys were revoked
		accounts.Delete(rows, readmodel.AccountRow{Account: e.Account})
		profiles.Delete(rows, readmodel.ProfileRow{Account: e.Account})
	default:
		handleSubscription(event, rows)
	}
	return nil
}

func openedRow(e account.Opened) readmodel.AccountRow {
	from := e.Entitlement().Start
	row := readmodel.AccountRow{
		Account: e.Account, OpenedAt: e.At, OpenedOn: e.Plan, PeriodsFrom: from, Plan: e.Plan, EntitledFrom: from,
		Followed: -1,
	}
	if free := e.FreePeriod; free != nil {
		row.FreePeriodEnd, row.FreePeriodUsed = &free.End, &free.Used
	}
	return row
}

// countVoices adds to the number of an account's voices, unless the account is closed.
func countVoices(rows *table.Rows, account string, of voice.Type, places int64) {
	row := readmodel.AccountRow{Account: account}
	switch of {
	case voice.Instant:
		row.InstantVoices = places
	case voice.Professional:
		row.ProfessionalVoices = places
	}
	voices.Add(rows, row)
}

func handleClosing(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case account.Closed:
		closings.Put(rows, projections.ToDo(event, e.Account, e.At))
	case account.Erased:
		closings.Put(rows, projections.ToDo(event, e.Account, e.AgainAt))
	case account.ErasureRepeated:
		closings.Delete(rows, readmodel.ToDoRow{Item: e.Account})
	}
	return nil
}
