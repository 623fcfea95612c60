package audit_test

import (
	"testing"
	"time"

	commands "github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	from, to := noon.Add(-time.Hour), noon.Add(time.Hour)
	eventtest.Golden(t, commands.Events(), eventtest.Example{
		Name: "personal-data-read", Version: 1,
		Event: audit.PersonalDataRead{
			Read: "r1", By: "ada", Reason: "Ticket 7", Count: 3, At: noon,
			Query: audit.Query{
				Of: "sessions", Account: "a1", EmailHash: "e1", Session: "s1", Kind: "session-opened", From: &from, To: &to,
				Operator: "otto", Page: "p1",
				Personal: true,
			},
		},
	}, eventtest.Example{
		Name: "operator-acted", Version: 1,
		Event: audit.OperatorActed{Act: "o1", Kind: "projections-rebuild", Subject: "account, usage", At: noon},
	}, eventtest.Example{
		Name: "audit-head-signed", Version: 1,
		Event: audit.Head{
			Log: "l1", Count: 7, Hash: "00ff", Streams: 1, Last: audit.LastEvent{ID: "e1", Stream: "account-a1", Revision: 4},
			At: noon, Key: "01", Signature: "02",
		},
	})
}
