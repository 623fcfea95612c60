package readmodel

import (
	"time"

	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// Sessions is the read model of browser sessions.
var Sessions = Model{Name: "sessions", Version: 1}

// SessionRow is a session that was not ended individually. It may have expired, or have been idle for too long.
type SessionRow struct {
	Session   string    `col:"session_id,key"`
	Account   string    `col:"account_id"`
	Device    []byte    `col:"device,null"` // sealed for DeviceUse; NULL: unknown
	Country   *string   `col:"country"`     // NULL: unknown
	Provider  string    `col:"provider"`
	OpenedAt  time.Time `col:"opened_at"`
	SeenAt    time.Time `col:"seen_at"`
	ExpiresAt time.Time `col:"expires_at"`
	Cause     string    `col:"cause"` // of its expiry: the event that opened it
}

// DeviceUse returns the purpose for which the device is sealed.
func (r SessionRow) DeviceUse() string { return session.DeviceSealedFor(r.Session) }

// RevocationRow is the last time at which an account ended all of its sessions. The sessions' rows stay until they
// expire.
type RevocationRow struct {
	Account string    `col:"account_id,key"`
	Until   time.Time `col:"opened_until"`
}

// Revocations is a table without a view of its own.
var Revocations = table.Of[RevocationRow]("revocations")

// SessionsView shows the sessions that were ended neither individually nor with all others of their account.
var SessionsView = Show(Sessions, table.Of[SessionRow]("sessions").
	Index("sessions_of_account", "account_id", "opened_at").
	Index("sessions_due", "expires_at")).
	Where(`not exists (select from revocations r
		where r.account_id = sessions.account_id and r.opened_until >= sessions.opened_at)`)

// ToDoExpireSessionsView lists all sessions, to be ended when they expire. The end of a revoked one removes its row.
var ToDoExpireSessionsView = ToDoFrom(Sessions, "todo_expire_sessions",
	`select session_id as item, '`+session.StreamPrefix+`' || session_id as stream, expires_at as due_at, cause
	from sessions`)
