package alert_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/spec"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func raise(id string, at time.Time) alert.Raise {
	return alert.Raise{Alert: id, Source: "todo/expiry", Subject: "r1", Reason: alert.GaveUp, At: at}
}

func TestRaise(t *testing.T) {
	type events = []alert.Event
	raised := alert.Raised(raise("a1", noon))
	spec.Run(t, alert.Evolve, []spec.Case[alert.State, alert.Event]{
		{Name: "an alert is raised", When: raise("a1", noon), Then: events{raised}},
		{Name: "raising it again changes nothing", Given: events{raised}, When: raise("a1", noon.Add(time.Hour))},
		{Name: "others do not matter", Given: events{alert.Raised(raise("a0", noon))}, When: raise("a1", noon), Then: events{raised}},
		{Name: "it says what it is about", When: alert.Raise{Alert: "a1", Source: "todo/expiry", Reason: alert.GaveUp, At: noon}, Refused: domain.Invalid},
	})
}
