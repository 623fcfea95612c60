package readmodel

// Account is the read model of accounts and their API keys.
var Account = Model{Name: "account", Version: 1}

// AccountsView has a row for each account.
var AccountsView = View{Account, "accounts", []Column{
	{"account_id", Text},
	{"plan", Text},
	{"opened_at", Timestamptz},
}}

// APIKeysView has a row for each API key that was not revoked.
var APIKeysView = View{Account, "api_keys", []Column{
	{"key_hash", Text},
	{"account_id", Text},
	{"masked", Text},
	{"name", Text}, // NULL: none was given
	{"created_at", Timestamptz},
}}

// UnissuedKeys is the read model of API keys without a stream of their own, as earlier releases created them.
var UnissuedKeys = Model{Name: "unissued_keys", Version: 1}

// ToDoIssueKeysView is the to-do list of these keys. An item is the event that created the key, which is the cause, too.
var ToDoIssueKeysView = View{UnissuedKeys, "todo_issue_keys", ToDoColumns()}
