// Package accounts holds the read models of accounts and their API keys.
package accounts

import (
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{accountModel(), closingsModel()}
}

type accountRow struct {
	Account     string    `col:"account_id,key"`
	OpenedAt    time.Time `col:"opened_at"`
	OpenedOn    string    `col:"opened_on"`
	PeriodsFrom time.Time `col:"periods_from"`

	Plan          string     `col:"plan"`
	EntitledFrom  time.Time  `col:"entitled_from"`
	EntitledUntil *time.Time `col:"entitled_until"`
	NextPlan      *string    `col:"next_plan"`
	Anchor        *time.Time `col:"anchor"`
	Subscribed    bool       `col:"subscribed"`
	Followed      int64      `col:"followed"` // revision in the subscription's stream; -1 before there was any

	FreePeriodEnd  *time.Time `col:"free_period_end"`
	FreePeriodUsed *int64     `col:"free_period_characters"`
	AcceptedTOS    bool       `col:"accepted_tos"`
	WantsEmail     *bool      `col:"wants_email"`
	Operator       bool       `col:"operator"`
}

type keyRow struct {
	Hash       string    `col:"key_hash,key"`
	Account    string    `col:"account_id"`
	Masked     string    `col:"masked"`
	SealedName []byte    `col:"sealed_name,null"`
	CreatedAt  time.Time `col:"created_at"`
}

type profileRow struct {
	Account   string `col:"account_id,key"`
	Name      []byte `col:"name"`
	Email     []byte `col:"email"`
	Picture   []byte `col:"picture,null"`
	EmailHash string `col:"email_hash"`
}

func accountModel() feed.Projection {
	accounts := table.Of[accountRow]("accounts")
	accepted := table.FieldOf(accounts, func(r *accountRow) *bool { return &r.AcceptedTOS })
	wantsEmail := table.FieldOf(accounts, func(r *accountRow) **bool { return &r.WantsEmail })
	operator := table.FieldOf(accounts, func(r *accountRow) *bool { return &r.Operator })
	keys := table.Of[keyRow]("api_keys").Index("api_keys_of_account", "account_id", "created_at")
	sealedName := table.FieldOf(keys, func(r *keyRow) *[]byte { return &r.SealedName })
	profiles := table.Of[profileRow]("profiles").Index("profiles_by_email", "email_hash")
	entitlements := newEntitlements(accounts)
	subscriptions := newSubscriptions(accounts)
	return feed.Projection{
		Model:  readmodel.Account,
		Tables: []*table.Table{accounts.Table, keys.Table, profiles.Table, entitlements.Table, entitlements.due.Table, subscriptions.Table},
		Views: []feed.View{
			{View: readmodel.AccountsView, Select: `select account_id, opened_at, opened_on, periods_from, plan, entitled_from, entitled_until, next_plan, anchor, subscribed,
				free_period_end, free_period_characters, accepted_tos, wants_email, operator from accounts`},
			{View: readmodel.EntitlementsView, Select: `select account_id, plan, entitled_from, entitled_until, next_plan, anchor from entitlements`},
			{View: readmodel.AccountSubscriptionsView, Select: `select account_id, subscription_id, status, cancel_at_period_end, created_at from subscriptions`},
			{View: readmodel.ToDoEntitleView.View, Select: toDoEntitle},
			{View: readmodel.APIKeysView, Select: `select key_hash, account_id, masked, sealed_name, created_at from api_keys`},
			{View: readmodel.ProfilesView, Select: `select account_id, name, email, picture, email_hash from profiles`},
		},
		Streams: eventlog.Streams{account.StreamPrefix, subscription.StreamPrefix},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case account.Opened:
				accounts.Put(rows, openedRow(e))
			case account.Entitled:
				entitlements.follow(rows, e)
			case subscription.Entitled:
				entitlements.listed(rows, event, e)
			case account.TermsAccepted:
				accepted.Set(rows, accountRow{Account: e.Account}, true)
			case account.EmailPreferencesSet:
				wantsEmail.Set(rows, accountRow{Account: e.Account}, &e.WantsEmail)
			case account.OperatorGranted:
				operator.Set(rows, accountRow{Account: e.Account}, true)
			case account.OperatorWithdrawn:
				operator.Set(rows, accountRow{Account: e.Account}, false)
			case account.APIKeyCreated:
				keys.Put(rows, keyRow{Hash: e.Hash, Account: e.Account, Masked: e.Masked, SealedName: e.SealedName, CreatedAt: e.At})
			case account.APIKeyRenamed:
				sealedName.Set(rows, keyRow{Hash: e.Hash}, e.SealedName)
			case account.APIKeyRevoked:
				keys.Delete(rows, keyRow{Hash: e.Hash})
			case account.ProfileRecorded:
				profiles.Put(rows, profileRow{Account: e.Account, Name: e.Name, Email: e.Email, Picture: e.Picture, EmailHash: e.EmailHash})
			case account.Closed: // its keys were revoked
				accounts.Delete(rows, accountRow{Account: e.Account})
				profiles.Delete(rows, profileRow{Account: e.Account})
			default:
				subscriptions.handle(rows, event.Event)
			}
			return nil
		},
	}
}

func openedRow(e account.Opened) accountRow {
	from := e.Entitlement().Start
	row := accountRow{
		Account: e.Account, OpenedAt: e.At, OpenedOn: string(e.Plan), PeriodsFrom: from, Plan: string(e.Plan), EntitledFrom: from, Followed: -1,
	}
	if free := e.FreePeriod; free != nil {
		row.FreePeriodEnd, row.FreePeriodUsed = &free.End, &free.Used
	}
	return row
}

// orNull returns what a column holds for a text that may not have been given.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
