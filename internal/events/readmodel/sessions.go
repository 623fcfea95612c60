package readmodel

// Sessions is the read model of the sessions of browsers.
var Sessions = Model{Name: "sessions", Version: 1}

// SessionsView has a row for each session that was not ended, neither alone nor with all others of its account. It may
// have expired, or have been idle for too long.
var SessionsView = View{Model: Sessions, Name: "sessions", Columns: []Column{
	{"session_id", Text},
	{"account_id", Text},
	{"device", Bytea}, // sealed for device_sealed_for; NULL: it is not known
	{"device_sealed_for", Text},
	{"country", Text}, // NULL: it is not known
	{"provider", Text},
	{"opened_at", Timestamptz},
	{"seen_at", Timestamptz},
	{"expires_at", Timestamptz},
}}

// ToDoExpireSessionsView is the to-do list of sessions, which are ended when their time is over. The cause is the event
// that opened the session.
var ToDoExpireSessionsView = View{Model: Sessions, Name: "todo_expire_sessions", Columns: ToDoColumns()}
