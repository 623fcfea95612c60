package audit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/domain/spec"
)

func TestRecordRead(t *testing.T) {
	type events = []audit.Event
	read := func(by, reason string) audit.RecordRead {
		noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		return audit.RecordRead{Read: "r1", By: by, Reason: reason, Query: audit.Query{Of: "sessions", Account: "a1"},
			Count: 3, At: noon}
	}
	recorded := audit.PersonalDataRead(read("ada", "Ticket 7"))
	spec.Run(t, audit.EvolveRead, []spec.Case[audit.ReadState, audit.Event]{
		{Name: "a read is recorded", When: read("ada", "Ticket 7"), Then: events{recorded}},
		{Name: "without the spaces around its reason", When: read("ada", " Ticket 7\n"), Then: events{recorded}},
		{Name: "recording it again changes nothing", Given: events{recorded}, When: read("ada", "Ticket 7")},
		{Name: "nobody in particular", When: read("", "Ticket 7"), Refused: domain.Denied},
		{Name: "no reason", When: read("ada", ""), Refused: domain.Invalid},
		{Name: "a reason of spaces", When: read("ada", " \t\n"), Refused: domain.Invalid},
		{Name: "the longest reason, in characters", When: read("ada", strings.Repeat("ä", 500)),
			Then: events{audit.PersonalDataRead(read("ada", strings.Repeat("ä", 500)))}},
		{Name: "a reason that is too long", When: read("ada", strings.Repeat("x", 501)), Refused: domain.Invalid},
		{Name: "a reason with an address", When: read("ada", "mail of jane@example.org"), Refused: domain.Invalid},
	})
}

func TestRecordAct(t *testing.T) {
	type events = []audit.Event
	act := audit.RecordAct{Act: "o1", Kind: audit.ActRebuild, Subject: "usage",
		At: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	spec.Run(t, audit.EvolveAct, []spec.Case[audit.ActState, audit.Event]{
		{Name: "an act is recorded", When: act, Then: events{audit.OperatorActed(act)}},
		{Name: "recording it again changes nothing", Given: events{audit.OperatorActed(act)}, When: act},
		{Name: "an act of no kind", When: audit.RecordAct{Act: "o1"}, Refused: domain.Invalid},
	})
}
