package readmodel

// Audit is the read model of what auditors ask: who did what, when and, from version 2 on, from where.
var Audit = Model{Name: "audit", Version: 2}

// AuditView has a row for each event that auditors look for, by its position in the log.
var AuditView = View{Model: Audit, Name: "audit_entries", Columns: []Column{
	{"log_commit", Bigint},
	{"log_prepare", Bigint},
	{"at", Timestamptz}, // of the command
	{"area", Text},      // one of those below
	{"kind", Text},      // type of the event
	{"account_id", Text},
	{"session_id", Text},
	{"said", Text}, // what has happened, in words without personal data
	{"actor_kind", Text},
	{"actor_name", Text},
	{"actor_role", Text},
	{"actor_address", Text}, // of an operator's machine
	{"actor_reason", Text},
	{"actor_key", Text},
	{"actor_session", Text},
	{"correlation", Text},
	{"causation", Text},
	{"event_id", Text},
	{"stream", Text},
	{"revision", Bigint},
	{"personal", Jsonb}, // PersonalField; NULL: there is none
}}

// PersonalField is personal data of an entry, as it is in the event.
type PersonalField struct {
	Name    string `json:"name"`
	Account string `json:"account"` // whose key it is sealed with
	Use     string `json:"use"`     // what it is sealed for
	Sealed  []byte `json:"sealed"`
}

// AuditAddress is the name of the PersonalField that says where a command came from.
const AuditAddress = "address"

// The areas of entries.
const (
	AuditSessions = "sessions" // who comes in: sessions, sign-ins, keys, accounts, operators, reads of personal data
	AuditBilling  = "billing"  // what it costs: subscriptions, payments, periods, credit
	AuditActivity = "activity" // what is made and removed: voices, stars, clips, variables at the hosting platform

	// AuditOperators is that of the service itself: what operators changed and copied. Listed with it is whatever
	// operators and auditors did, in all areas.
	AuditOperators = "operators"
)
