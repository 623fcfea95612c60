package readmodel

import (
	"time"

	"github.com/recital-tts/recital/internal/events/feed/table"
)

// Audit is the read model of the audit trail: who did what, when and from where.
var Audit = Model{Name: "audit", Version: 1}

// AuditRow is an event in the audit trail.
type AuditRow struct {
	Commit       uint64          `col:"log_commit,key"` // its position in the log
	Prepare      uint64          `col:"log_prepare,key"`
	At           time.Time       `col:"at"`         // of the command
	Area         string          `col:"area"`       // AuditSessions, AuditBilling, …
	Kind         string          `col:"kind"`       // type of the event
	Account      *string         `col:"account_id"` // NULL: it concerns none, or the event does not name it
	Session      *string         `col:"session_id"`
	Sentence     string          `col:"said"` // without personal data: it is kept when the account is erased
	ActorKind    string          `col:"actor_kind"`
	ActorName    string          `col:"actor_name"`
	ActorRole    string          `col:"actor_role"`
	ActorAddress string          `col:"actor_address"` // of an operator's machine
	ActorReason  string          `col:"actor_reason"`
	ActorKey     string          `col:"actor_key"`
	ActorSession string          `col:"actor_session"`
	Correlation  string          `col:"correlation"`
	Causation    string          `col:"causation"`
	EventID      string          `col:"event_id"`
	Stream       string          `col:"stream"`
	Revision     uint64          `col:"revision"`
	Personal     []PersonalField `col:"personal,null,json"`
}

// AuditView shows all entries. It has an index for each filter, in the order of the pages: by time, then by position.
var AuditView = Show(Audit, table.Of[AuditRow]("audit_entries").
	Index("entries_of_area", auditOrder("area")...).
	Index("entries_of_kind", auditOrder("kind", "area")...).
	Index("entries_of_account", auditOrder("account_id", "area")...).
	Index("entries_of_operator", auditOrder("actor_name", "area")...).
	Index("entries_of_session", auditOrder("session_id", "area")...))

func auditOrder(by ...string) []string { return append(by, "at", "log_commit", "log_prepare") }

// PersonalField is personal data of an entry, sealed as in the event.
type PersonalField struct {
	Name    string `json:"name"`
	Account string `json:"account"` // with the key it is sealed with
	Use     string `json:"use"`     // purpose for which it is sealed
	Sealed  []byte `json:"sealed"`
}

// AuditAddress is the name of the PersonalField for the address of a command's client.
const AuditAddress = "address"

// The areas of entries.
const (
	AuditSessions = "sessions" // access: sessions, sign-ins, keys, accounts, operators, reads of personal data
	AuditBilling  = "billing"  // subscriptions, payments, periods, credit
	AuditActivity = "activity" // voices, stars, clips, and variables at the hosting platform

	// AuditOperators is the area of the service itself: changes and copies by operators. Its list includes all acts of
	// operators and auditors in other areas.
	AuditOperators = "operators"
)
