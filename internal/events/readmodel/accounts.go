package readmodel

import (
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// Account is the read model of accounts: their entitlements, their API keys and their owners' profiles.
var Account = Model{Name: "account", Version: 1}

// AccountRow is an open account.
type AccountRow struct {
	Account     string    `col:"account_id,key"`
	OpenedAt    time.Time `col:"opened_at"`
	OpenedOn    plan.Type `col:"opened_on"`    // the plan before any subscription
	PeriodsFrom time.Time `col:"periods_from"` // start of its months

	Plan          plan.Type  `col:"plan"` // see Entitlement
	EntitledFrom  time.Time  `col:"entitled_from"`
	EntitledUntil *time.Time `col:"entitled_until"`
	NextPlan      *plan.Type `col:"next_plan"`
	Anchor        *time.Time `col:"anchor"`
	Followed      int64      `col:"followed"`   // revision in the subscription's stream; -1 before any
	Subscribed    bool       `col:"subscribed"` // there is a row in AccountSubscriptionsView

	// Of the period of a closed account that continues, which began at PeriodsFrom.
	FreePeriodEnd  *time.Time `col:"free_period_end"`
	FreePeriodUsed *int64     `col:"free_period_characters"` // used in it; NULL: there is no such period
	AcceptedTOS    bool       `col:"accepted_tos"`
	WantsEmail     *bool      `col:"wants_email"` // NULL: the owner has made no choice
	Operator       bool       `col:"operator"`

	// Number of the plan's places that its voices occupy, by type.
	InstantVoices      int64 `col:"instant_voices"`
	ProfessionalVoices int64 `col:"professional_voices"`
}

// AccountsView shows all accounts that are open.
var AccountsView = Show(Account, table.Of[AccountRow]("accounts"))

// Entitlement returns the account's entitlement.
func (r AccountRow) Entitlement() plan.Entitlement {
	return entitlement(r.Plan, r.EntitledFrom, r.EntitledUntil, r.NextPlan, r.Anchor)
}

// EntitlementRow is an entitlement of an account after its opening, valid until the next one starts. If it changed the
// current period, it has replaced its predecessor.
type EntitlementRow struct {
	Account string     `col:"account_id,key"`
	From    time.Time  `col:"entitled_from,key"`
	Plan    plan.Type  `col:"plan"`
	Until   *time.Time `col:"entitled_until"` // NULL while in force
	Next    *plan.Type `col:"next_plan"`      // after entitled_until; NULL as that
	Anchor  *time.Time `col:"anchor"`         // NULL: there is none
}

// EntitlementsView shows all entitlements.
var EntitlementsView = Show(Account, table.Of[EntitlementRow]("entitlements"))

// Entitlement returns the entitlement of the row.
func (r EntitlementRow) Entitlement() plan.Entitlement {
	return entitlement(r.Plan, r.From, r.Until, r.Next, r.Anchor)
}

func entitlement(on plan.Type, from time.Time, until *time.Time, next *plan.Type, anchor *time.Time) plan.Entitlement {
	e := plan.Entitlement{Plan: on, Start: from}
	if until != nil {
		e.End = *until
	}
	if next != nil {
		e.Next = *next
	}
	if anchor != nil {
		e.Anchor = *anchor
	}
	return e
}

// AccountSubscriptionRow is a subscription at the payment provider, possibly ended.
type AccountSubscriptionRow struct {
	Account           string    `col:"account_id,key"`
	Subscription      string    `col:"subscription_id,key"`
	Status            string    `col:"status"` // the provider's
	CancelAtPeriodEnd bool      `col:"cancel_at_period_end"`
	CreatedAt         time.Time `col:"created_at"`
}

// AccountSubscriptionsView shows all subscriptions.
var AccountSubscriptionsView = Show(Account, table.Of[AccountSubscriptionRow]("account_subscriptions"))

// DueEntitlementRow is an entitlement from a subscription that its account may not have followed yet.
type DueEntitlementRow struct {
	Account  string    `col:"account_id,key"`
	Revision int64     `col:"revision,key"` // in the subscription's stream
	Cause    string    `col:"cause"`
	Since    time.Time `col:"since"`
}

// DueEntitlements is the table behind ToDoEntitleView.
var DueEntitlements = table.Of[DueEntitlementRow]("due_entitlements").Index("due_entitlements_since", "since")

// ToDoEntitleView lists entitlements by subscriptions that the accounts' streams have not followed yet. An item is the
// event of the subscription, which is also the cause. Events before the last followed one, and events of closed
// accounts, are left out.
var ToDoEntitleView = ToDoFrom(Account, "todo_entitle",
	`select d.cause as item, '`+account.StreamPrefix+`' || d.account_id as stream, d.since as due_at, d.cause
	from due_entitlements d join accounts a on a.account_id = d.account_id and a.followed < d.revision`)

// ProfileRow is the profile of an account's owner from an identity provider. It is sealed for NameUse, EmailUse and
// PictureUse.
type ProfileRow struct {
	Account   string `col:"account_id,key"`
	Name      []byte `col:"name"`
	Email     []byte `col:"email"`
	Picture   []byte `col:"picture,null"` // NULL: there is none
	EmailHash string `col:"email_hash"`
}

// NameUse, EmailUse and PictureUse are the purposes for which the fields of a profile are sealed.
const (
	NameUse    = account.ForName
	EmailUse   = account.ForEmail
	PictureUse = account.ForPicture
)

// ProfilesView shows the profiles of all accounts that are open.
var ProfilesView = Show(Account, table.Of[ProfileRow]("profiles").Index("profiles_by_email", "email_hash"))

// APIKeyRow is an API key that was not revoked.
type APIKeyRow struct {
	Hash       string    `col:"key_hash,key"`
	Account    string    `col:"account_id"`
	Masked     string    `col:"masked"`
	SealedName []byte    `col:"sealed_name,null"` // for NameUse; NULL: none was given
	CreatedAt  time.Time `col:"created_at"`
}

// NameUse returns the purpose for which the name is sealed.
func (r APIKeyRow) NameUse() string { return account.ForKeyName(r.Hash) }

// APIKeysView shows all keys.
var APIKeysView = Show(Account,
	table.Of[APIKeyRow]("api_keys").Index("api_keys_of_account", "account_id", "created_at"))

// Closings is the read model of closed accounts whose erasure is not complete.
var Closings = Model{Name: "closings", Version: 1}

// ToDoCloseAccountView lists these accounts. An item is the account; its cause is the event that closed it or, if it is
// to be erased again, the event of its erasure.
var ToDoCloseAccountView = NewToDo(Closings, "todo_close_account")
