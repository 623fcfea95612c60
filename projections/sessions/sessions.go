// Package sessions holds the read model of browser sessions.
package sessions

import (
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/projections"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{{
		Model:   readmodel.Sessions,
		Streams: eventlog.Streams{session.StreamPrefix, account.StreamPrefix},
		Tables:  []*table.Table{readmodel.SessionsView.Table, readmodel.Revocations.Table},
		Views:   []readmodel.View{readmodel.SessionsView.View, readmodel.ToDoExpireSessionsView.View},
		Handle:  handle,
	}}
}

var (
	sessions = readmodel.SessionsView
	seen     = sessions.Fields("seen_at")
)

func handle(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case session.Opened:
		sessions.Put(rows, readmodel.SessionRow{
			Session: e.Session, Account: e.Account, Device: e.Device, Country: projections.OrNull(e.Country),
			Provider: e.Provider,
			OpenedAt: e.At, SeenAt: e.At, ExpiresAt: e.ExpiresAt, Cause: event.ID.String(),
		})
	case session.Seen:
		seen.Set(rows, readmodel.SessionRow{Session: e.Session, SeenAt: e.At})
	case session.Rotated:
		seen.Set(rows, readmodel.SessionRow{Session: e.Session, SeenAt: e.At})
	case session.Ended:
		sessions.Delete(rows, readmodel.SessionRow{Session: e.Session})
	case account.SessionsRevoked:
		readmodel.Revocations.Put(rows, readmodel.RevocationRow{Account: e.Account, Until: e.At})
	case account.Closed:
		readmodel.Revocations.Put(rows, readmodel.RevocationRow{Account: e.Account, Until: e.At})
	}
	return nil
}
