package readmodel

// Account is the read model of accounts, their API keys and their owners' profiles. Version 2 has preferences, profiles
// and the free periods that closed accounts left, and shows no closed account. Version 3 has entitlements and
// subscriptions. Version 4 has sealed names of API keys.
var Account = Model{Name: "account", Version: 4}

// AccountsView has a row for each account that was not closed. What it is entitled to is as in plan.Entitlement.
var AccountsView = View{Model: Account, Name: "accounts", Columns: []Column{
	{"account_id", Text},
	{"opened_at", Timestamptz},
	{"opened_on", Text},           // the plan before there was a subscription
	{"periods_from", Timestamptz}, // where the months of that count from
	{"plan", Text},
	{"entitled_from", Timestamptz},
	{"entitled_until", Timestamptz},    // NULL: it goes on
	{"next_plan", Text},                // after entitled_until; NULL as that
	{"anchor", Timestamptz},            // NULL: there is none
	{"subscribed", Bool},               // there is a row in AccountSubscriptionsView
	{"free_period_end", Timestamptz},   // of the period that a closed account left, which starts at periods_from; NULL: none did
	{"free_period_characters", Bigint}, // used in it; NULL: none was left
	{"accepted_tos", Bool},
	{"wants_email", Bool}, // NULL: the owner has not said it
	{"operator", Bool},
}}

// EntitlementsView has a row for each entitlement of an account after that of its opening, in force until the next one
// starts. What has changed the running period has taken the place of what was there before.
var EntitlementsView = View{Model: Account, Name: "entitlements", Columns: []Column{
	{"account_id", Text},
	{"plan", Text},
	{"entitled_from", Timestamptz},
	{"entitled_until", Timestamptz}, // NULL: it goes on
	{"next_plan", Text},             // after entitled_until; NULL as that
	{"anchor", Timestamptz},         // NULL: there is none
}}

// AccountSubscriptionsView has a row for each subscription at the payment provider, also for those that have ended.
var AccountSubscriptionsView = View{Model: Account, Name: "account_subscriptions", Columns: []Column{
	{"account_id", Text},
	{"subscription_id", Text},
	{"status", Text}, // the provider's
	{"cancel_at_period_end", Bool},
	{"created_at", Timestamptz},
}}

// ToDoEntitleView is the to-do list of what subscriptions give their accounts, and the accounts' streams do not say
// yet. An item is the event of the subscription, which is the cause, too.
var ToDoEntitleView = ToDoFrom(Account, "todo_entitle", "")

// ProfilesView has a row for each owner of an account that was not closed, as far as an identity provider has described
// one. What is bytea is sealed with the account's key.
var ProfilesView = View{Model: Account, Name: "profiles", Columns: []Column{
	{"account_id", Text},
	{"name", Bytea},    // for account.ForName
	{"email", Bytea},   // for account.ForEmail
	{"picture", Bytea}, // for account.ForPicture; NULL: there is none
	{"email_hash", Text},
}}

// APIKeysView has a row for each API key that was not revoked.
var APIKeysView = View{Model: Account, Name: "api_keys", Columns: []Column{
	{"key_hash", Text},
	{"account_id", Text},
	{"masked", Text},
	{"sealed_name", Bytea}, // for account.ForKeyName; NULL: none was given
	{"created_at", Timestamptz},
}}

// Closings is the read model of accounts that were closed and have not been erased for good.
var Closings = Model{Name: "closings", Version: 1}

// ToDoCloseAccountView is the to-do list of these accounts. An item is the account; its cause is the event that closed
// it or, when it is to be erased again, the event that it was erased.
var ToDoCloseAccountView = ToDoFrom(Closings, "todo_close_account", "")
