package readmodel

// Usage is the read model of periods, of days and of open reservations. Version 2 counts credit, version 3 days and the
// use by session, version 4 entitlements and what is billed.
var Usage = Model{Name: "usage", Version: 4}

// UsagePeriodsView has a row for each period with a use or a grant, in characters that were settled.
var UsagePeriodsView = View{Model: Usage, Name: "usage_periods", Columns: []Column{
	{"account_id", Text},
	{"period_start", Timestamptz},
	{"period_end", Timestamptz},
	{"plan", Text},
	{"character_limit", Bigint},       // NULL: there is none
	{"characters", Bigint},            // by API key, or brought in from a closed account
	{"playground_characters", Bigint}, // by session
	{"credit_granted", Bigint},
	{"credit_carried", Bigint},
	{"credit_left", Bigint},
}}

// DailyUsageView has a row for each account and day (UTC) with a use, in characters that were settled on it.
var DailyUsageView = View{Model: Usage, Name: "daily_usage", Columns: []Column{
	{"account_id", Text},
	{"day", Date},
	{"api_characters", Bigint},
	{"playground_characters", Bigint},
}}

// OpenReservationsView has a row for each reservation that is neither settled nor expired.
var OpenReservationsView = View{Model: Usage, Name: "open_reservations", Columns: []Column{
	{"reservation_id", Text},
	{"stream", Text},
	{"account_id", Text},
	{"characters", Bigint},
	{"expires_at", Timestamptz},
}}

// ToDoExpiryView is the to-do list of the open reservations, which expire when nobody settles them. The cause is the
// command that reserved, whose id is the reservation's.
var ToDoExpiryView = ToDoFrom(Usage, "todo_expiry", "")

// ToDoCreditView is the to-do list of the periods whose credit is to be carried into the next one.
var ToDoCreditView = ToDoFrom(Usage, "todo_credit", "")

// ToDoFollowEntitlementView is the to-do list of the entitlements that no period follows yet. An item is the account;
// its cause is the event of its stream.
var ToDoFollowEntitlementView = ToDoFrom(Usage, "todo_follow_entitlement", "")

// ToDoClosePeriodView is the to-do list of the periods of metered plans, which are closed some time after their end. An
// item is the period's stream.
var ToDoClosePeriodView = ToDoFrom(Usage, "todo_close_period", "")

// ToDoBillOverageView is the to-do list of the closed periods with more use than plan and credit, which is not billed.
// An item is the period's stream; its cause is the event that has closed it.
var ToDoBillOverageView = ToDoFrom(Usage, "todo_bill_overage", "")
