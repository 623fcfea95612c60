package sessions_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
)

type sessionRow struct {
	ID        string
	Device    []byte
	Country   *string
	Provider  string
	OpenedAt  time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
}

const (
	sessionRows = `select session_id, device, country, provider, opened_at, seen_at, expires_at
		from read_v1.sessions where account_id = $1 order by session_id`
	dueRows = `select item, stream, due_at from read_v1.todo_expire_sessions order by due_at, item`
)

type dueRow struct {
	Item, Stream string
	Due          time.Time
}

func opened(n int, at time.Time) session.Opened {
	e := session.Opened{
		Session: fmt.Sprint("s", n), Account: "a1", SecretHash: "h", Provider: "idp_1", At: at, ExpiresAt: at.Add(time.Hour),
	}
	if n%2 == 1 {
		e.Device, e.Country = []byte{0, 255, byte(n)}, "NL"
	}
	return e
}

func row(e session.Opened, seen time.Time) sessionRow {
	r := sessionRow{e.Session, e.Device, nil, e.Provider, e.At, seen, e.ExpiresAt}
	if e.Country != "" {
		r.Country = &e.Country
	}
	return r
}

func TestSessions(t *testing.T) {
	w := suite.World(t)
	later := now.Add(time.Minute)
	w.Write(t, "session-s1", opened(1, now))
	w.Write(t, "session-s2", opened(2, now), session.Seen{Session: "s2", Account: "a1", At: later})
	w.Write(t, "session-s3", opened(3, now), session.Rotated{Session: "s3", Account: "a1", SecretHash: "i", At: later})
	w.Write(t, "session-s4", opened(4, now), session.Ended{
		Session: "s4", Account: "a1", Reason: session.Revoked, At: later,
	})
	require.Equal(t, []sessionRow{row(opened(1, now), now), row(opened(2, now), later), row(opened(3, now), later)},
		feedtest.Rows[sessionRow](t, w, sessionRows, "a1"))
	require.Empty(t, feedtest.Rows[sessionRow](t, w, sessionRows, "a2"))
}

func TestSessionsThatWereRevokedTogether(t *testing.T) {
	for name, end := range map[string]any{
		"by their account": account.SessionsRevoked{Account: "a1", At: now},
		"with it":          account.Closed{Account: "a1", At: now},
	} {
		t.Run(name, func(t *testing.T) {
			// given sessions that were opened until then, and one that was opened later but is earlier in the log
			w := suite.World(t)
			before, later := opened(1, now.Add(-time.Minute)), opened(3, now.Add(time.Microsecond))
			w.Write(t, "session-s1", before)
			w.Write(t, "session-s2", opened(2, now))
			w.Write(t, "session-s3", later)
			stranger := opened(5, now)
			stranger.Account = "a2"
			w.Write(t, "session-s5", stranger)

			// when all are revoked
			w.Write(t, "account-a1", end)

			// then only the later one is shown
			require.Equal(t, []sessionRow{row(later, later.At)}, feedtest.Rows[sessionRow](t, w, sessionRows, "a1"))
			require.Len(t, feedtest.Rows[sessionRow](t, w, sessionRows, "a2"), 1)

			// and all are due for their end when their time is over
			require.Equal(t, []dueRow{
				{"s1", "session-s1", before.ExpiresAt},
				{"s2", "session-s2", now.Add(time.Hour)}, {"s5", "session-s5", now.Add(time.Hour)},
				{"s3", "session-s3", later.ExpiresAt},
			}, feedtest.Rows[dueRow](t, w, dueRows))
			w.Append(t, "session-s1", eventlog.Revision(0), session.Ended{
				Session: "s1", Account: "a1", Reason: session.Expired, At: now,
			})
			require.Len(t, feedtest.Rows[dueRow](t, w, dueRows), 3)
		})
	}
}
