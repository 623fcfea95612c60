package readmodel

// Usage is the read model of periods and of open reservations. Version 2 counts credit.
var Usage = Model{Name: "usage", Version: 2}

// UsagePeriodsView has a row for each period, in characters that were settled.
var UsagePeriodsView = View{Usage, "usage_periods", []Column{
	{"account_id", Text},
	{"period_start", Timestamptz},
	{"period_end", Timestamptz},
	{"plan", Text},
	{"character_limit", Bigint}, // NULL: there is none
	{"characters", Bigint},
	{"playground_characters", Bigint},
	{"credit_granted", Bigint},
	{"credit_carried", Bigint},
	{"credit_left", Bigint},
}}

// OpenReservationsView has a row for each reservation that is neither settled nor expired.
var OpenReservationsView = View{Usage, "open_reservations", []Column{
	{"reservation_id", Text},
	{"stream", Text},
	{"account_id", Text},
	{"characters", Bigint},
	{"expires_at", Timestamptz},
}}

// ToDoExpiryView is the to-do list of the open reservations, which expire when nobody settles them. The cause is the
// command that reserved, whose id is the reservation's.
var ToDoExpiryView = View{Usage, "todo_expiry", ToDoColumns()}

// ToDoCreditView is the to-do list of the periods whose credit is to be carried into the next one.
var ToDoCreditView = View{Usage, "todo_credit", ToDoColumns()}
