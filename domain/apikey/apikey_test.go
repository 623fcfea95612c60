package apikey_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/domain/spec"
)

func TestIssue(t *testing.T) {
	type events = []apikey.Event
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	issued := apikey.Issued{Hash: "h1", Account: "a1", At: noon}
	spec.Run(t, apikey.Evolve, []spec.Case[apikey.State, apikey.Event]{
		{Name: "a key is issued", When: apikey.Issue{Hash: "h1", Account: "a1", At: noon}, Then: events{issued}},
		{Name: "issuing it again changes nothing", Given: events{issued},
			When: apikey.Issue{Hash: "h1", Account: "a1", At: noon.Add(1)}},
		{Name: "a key has one account", Given: events{issued}, When: apikey.Issue{Hash: "h1", Account: "a2", At: noon},
			Refused: domain.Conflict},
	})
}
