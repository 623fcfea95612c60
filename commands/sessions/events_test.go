package sessions_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	const (
		id   = "0123456789abcdef0123456789abcdef"
		hash = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	)
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	eventtest.Golden(t, sessions.Events(),
		eventtest.Of("session-opened", 1, session.Opened{
			Session: id, Account: "a1", SecretHash: hash, Device: []byte("\x01device"), Address: []byte("\x01address"),
			Country: "DE", Provider: "idp_1", CrossSite: true, ExpiresAt: noon.AddDate(0, 1, 0), At: noon,
		}),
		eventtest.Of("session-seen", 1, session.Seen{Session: id, Account: "a1", At: noon}),
		eventtest.Of("session-rotated", 1, session.Rotated{
			Session: id, Account: "a1", SecretHash: hash, FormerHash: hash, CrossSite: true, OpenedAt: noon,
			ExpiresAt: noon.AddDate(0, 1, 0), At: noon,
		}),
		eventtest.Of("session-ended", 1, session.Ended{Session: id, Account: "a1", Reason: session.Revoked, At: noon}),
	)
}
