package alert_test

import (
	"os"
	"strings"
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
		{Name: "others do not matter", Given: events{alert.Raised(raise("a0", noon))}, When: raise("a1", noon),
			Then: events{raised}},
		{Name: "it says what it is about", When: alert.Raise{Alert: "a1", Source: "todo/expiry", Reason: alert.GaveUp,
			At: noon}, Refused: domain.Invalid},
	})
}

func TestClear(t *testing.T) {
	type events = []alert.Event
	raised, cleared := alert.Raised(raise("a1", noon)), alert.Cleared{Alert: "a1", At: noon}
	spec.Run(t, alert.Evolve, []spec.Case[alert.State, alert.Event]{
		{Name: "an alert is cleared", Given: events{raised}, When: alert.Clear{Alert: "a1", At: noon}, Then: events{cleared}},
		{Name: "clearing it again changes nothing", Given: events{raised, cleared},
			When: alert.Clear{Alert: "a1", At: noon.Add(time.Hour)}},
		{Name: "others do not matter", Given: events{alert.Cleared{Alert: "a0", At: noon}},
			When: alert.Clear{Alert: "a1", At: noon}, Then: events{cleared}},
		{Name: "it says which", Given: events{raised}, When: alert.Clear{At: noon}, Refused: domain.Invalid},
		{Name: "what was cleared is not raised again", Given: events{raised, cleared}, When: raise("a1", noon)},
	})
}

func TestAConditionIsRaisedAndClearedAgainAndAgain(t *testing.T) {
	type events = []alert.ConditionEvent
	full := alert.Condition{Source: "disk", Subject: "host:/data", Reason: alert.DiskFull}
	raised := func(id string, at time.Time) alert.ConditionRaised {
		return alert.ConditionRaised{Alert: id, Source: "disk", Subject: "host:/data", Reason: alert.DiskFull, At: at}
	}
	raise := func(id string, at time.Time) alert.RaiseCondition {
		return alert.RaiseCondition{Condition: full, Alert: id, At: at}
	}
	cleared := func(id string, at time.Time) alert.ConditionCleared { return alert.ConditionCleared{Alert: id, At: at} }
	later := noon.Add(time.Hour)
	spec.Run(t, alert.EvolveCondition, []spec.Case[alert.ConditionState, alert.ConditionEvent]{
		{Name: "it is raised", When: raise("a1", noon), Then: events{raised("a1", noon)}},
		{Name: "once", Given: events{raised("a1", noon)}, When: raise("a2", later)},
		{Name: "and cleared", Given: events{raised("a1", noon)}, When: alert.ClearCondition{At: later},
			Then: events{cleared("a1", later)}},
		{Name: "once", Given: events{raised("a1", noon), cleared("a1", later)}, When: alert.ClearCondition{At: later}},
		{Name: "a new occasion is a new alert", Given: events{raised("a1", noon), cleared("a1", noon)},
			When: raise("a2", later), Then: events{raised("a2", later)}},
		{Name: "what never held needs no clearing", When: alert.ClearCondition{At: later}},
		{Name: "an alert by its id", Given: events{raised("a1", noon)}, When: alert.ClearCondition{Alert: "a1", At: later},
			Then: events{cleared("a1", later)}},
		{Name: "and no other one", Given: events{raised("a2", noon)}, When: alert.ClearCondition{Alert: "a1", At: later}},
		{Name: "it never ends before it began, whatever clocks say", Given: events{raised("a1", later)},
			When: alert.ClearCondition{At: noon}, Then: events{cleared("a1", later)}},
		{Name: "it says what it is about", When: alert.RaiseCondition{Alert: "a1", At: noon}, Refused: domain.Invalid},
	})
	spec.FromSnapshot(t, alert.EvolveCondition, events{raised("a1", noon)},
		alert.ConditionState{Alert: "a2", Since: later})
	spec.FromSnapshot(t, alert.EvolveCondition, events{cleared("a1", noon)},
		alert.ConditionState{Alert: "a2", Since: later})
}

func TestEachReasonHasASentence(t *testing.T) {
	for reason, want := range map[alert.Open]string{
		{Condition: alert.Condition{Source: "todo/expiry", Subject: "r1",
			Reason: alert.GaveUp}}: "Item r1 of the to-do list expiry has failed too often, and is " +
			"tried only hourly, at 2026-11-21 12:00:00 UTC",
		{Condition: alert.Condition{Source: "event", Subject: "e1 at 7/7",
			Reason: alert.Stopped}}: "Read models have stopped before an event that they cannot handle " +
			"(e1 at 7/7), at 2026-11-21 12:00:00 UTC",
		{Condition: alert.Condition{Source: "postgres", Subject: "host", Reason: alert.Unreachable},
			Lasting: true}: "Postgres does not answer (found by host), since 2026-11-21 12:00:00 UTC",
		{Condition: alert.Condition{Source: "idp/idp_1", Subject: "host", Reason: alert.Unreachable},
			Lasting: true}: "The identity provider idp_1 does not answer (found by host), since 2026-11-21 12:00:00 UTC",
		{Condition: alert.Condition{Source: "moon", Subject: "tonight", Reason: "blue"},
			Lasting: true}: "moon: blue (tonight), since 2026-11-21 12:00:00 UTC",
		{Condition: alert.Condition{Source: "log", Subject: "host", Reason: alert.NoAppends}, Lasting: true,
			Alert: ""}: "The event store takes no events (found by host), since 2026-11-21 12:00:00 UTC",
	} {
		reason.Since = noon
		if got := reason.Sentence(); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

func TestEachReasonHasAdvice(t *testing.T) {
	const unknown = "See docs/alerts.md."
	advice := func(reason alert.Reason) string {
		return alert.Open{Condition: alert.Condition{Reason: reason}}.Advice()
	}
	for reason := range alert.Sentences {
		if advice(reason) == unknown {
			t.Errorf("%s has no advice", reason)
		}
	}
	if got := advice("of_tomorrow"); got != unknown {
		t.Errorf("a reason of another release: %s", got)
	}
}

func TestEachReasonIsInTheGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	for reason := range alert.Sentences {
		if !strings.Contains(string(guide), "`"+string(reason)+"`") {
			t.Errorf("docs/alerts.md does not have %s", reason)
		}
	}
}
