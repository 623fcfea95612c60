// Package sessions is the read model of the sessions of browsers.
package sessions

import (
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{sessionsModel()}
}

type sessionRow struct {
	Session   string    `col:"session_id,key"`
	Account   string    `col:"account_id"`
	Device    []byte    `col:"device,null"`
	Country   *string   `col:"country"`
	Provider  string    `col:"provider"`
	OpenedAt  time.Time `col:"opened_at"`
	SeenAt    time.Time `col:"seen_at"`
	ExpiresAt time.Time `col:"expires_at"`
	Cause     string    `col:"cause"` // of its expiry: the event that opened it
}

// revocationRow is the last time at which an account ended all its sessions. Their rows stay until they expire.
type revocationRow struct {
	Account string    `col:"account_id,key"`
	Until   time.Time `col:"opened_until"`
}

var liveSessions = `select session_id, account_id, device, '` + session.DeviceSealedFor("") + `' || session_id as device_sealed_for, country, provider, opened_at, seen_at, expires_at
	from sessions s where not exists (select from revocations r where r.account_id = s.account_id and r.opened_until >= s.opened_at)`

// toDoExpire lists revoked sessions, too: their end removes their rows.
const toDoExpire = `select session_id as item, '` + session.StreamPrefix + `' || session_id as stream, expires_at as due_at, cause from sessions`

func sessionsModel() feed.Projection {
	sessions := table.Of[sessionRow]("sessions").
		Index("sessions_of_account", "account_id", "opened_at").
		Index("sessions_due", "expires_at")
	seen := table.FieldOf(sessions, func(r *sessionRow) *time.Time { return &r.SeenAt })
	revocations := table.Of[revocationRow]("revocations")
	return feed.Projection{
		Model:   readmodel.Sessions,
		Streams: eventlog.Streams{session.StreamPrefix, account.StreamPrefix},
		Tables:  []*table.Table{sessions.Table, revocations.Table},
		Views: []feed.View{
			{View: readmodel.SessionsView, Select: liveSessions},
			{View: readmodel.ToDoExpireSessionsView, Select: toDoExpire},
		},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case session.Opened:
				sessions.Put(rows, openedRow(event, e))
			case session.Seen:
				seen.Set(rows, sessionRow{Session: e.Session}, e.At)
			case session.Rotated:
				seen.Set(rows, sessionRow{Session: e.Session}, e.At)
			case session.Ended:
				sessions.Delete(rows, sessionRow{Session: e.Session})
			case account.SessionsRevoked:
				revocations.Put(rows, revocationRow{Account: e.Account, Until: e.At})
			case account.Closed:
				revocations.Put(rows, revocationRow{Account: e.Account, Until: e.At})
			}
			return nil
		},
	}
}

func openedRow(event eventlog.Decoded, e session.Opened) sessionRow {
	row := sessionRow{
		Session: e.Session, Account: e.Account, Device: e.Device, Provider: e.Provider,
		OpenedAt: e.At, SeenAt: e.At, ExpiresAt: e.ExpiresAt, Cause: event.ID.String(),
	}
	if e.Country != "" {
		row.Country = &e.Country
	}
	return row
}
