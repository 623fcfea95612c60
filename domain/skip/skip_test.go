package skip_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/skip"
	"github.com/recital-tts/recital/domain/spec"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func of(event, stream string) skip.EventSkipped {
	return skip.EventSkipped{Event: event, Stream: stream, Revision: 7, Type: "account-adopted", By: "jo",
		Role: "operator", Why: "of a newer release", At: noon}
}

func TestSkip(t *testing.T) {
	type events = []skip.Event
	x := of("x", "account-a1")
	confirmed := skip.SkipConfirmed{Event: "x", By: "jo", Role: "operator", Why: "looked", At: noon}
	unskipped := skip.EventUnskipped{Event: "x", By: "jo", Role: "operator", Why: "upgraded", At: noon}
	unreasoned := x
	unreasoned.Why = " "
	personal := x
	personal.Why = "for jo@example.com"
	var full events
	for i := range skip.Max {
		full = append(full, of(strconv.Itoa(i), "clip-1"))
	}
	spec.Run(t, skip.Evolve, []spec.Case[skip.State, skip.Event]{
		{Name: "an event is skipped", When: skip.SkipEvent(x), Then: events{x}},
		{Name: "skipping it again changes nothing", Given: events{x}, When: skip.SkipEvent(x)},
		{Name: "a reason is needed", When: skip.SkipEvent(unreasoned), Refused: domain.Invalid},
		{Name: "without personal data", When: skip.SkipEvent(personal), Refused: domain.Invalid},
		{Name: "there is a bound", Given: full, When: skip.SkipEvent(x), Refused: domain.Rejected},
		{Name: "it is confirmed", Given: events{x}, When: skip.Confirm(confirmed), Then: events{confirmed}},
		{Name: "confirming it again changes nothing", Given: events{x, confirmed}, When: skip.Confirm(confirmed)},
		{Name: "what is not skipped cannot be confirmed", When: skip.Confirm(confirmed), Refused: domain.NotFound},
		{Name: "it counts again", Given: events{x}, When: skip.UnskipEvent(unskipped), Then: events{unskipped}},
		{Name: "once", Given: events{x, unskipped}, When: skip.UnskipEvent(unskipped), Refused: domain.NotFound},
		{Name: "it is skipped anew", Given: events{x, unskipped}, When: skip.SkipEvent(x), Then: events{x}},
		{Name: "and then it is to be confirmed anew", Given: events{x, confirmed, unskipped, x},
			When: skip.Confirm(confirmed), Then: events{confirmed}},
		{Name: "there is nothing to confirm of a clip", Given: events{of("x", "clip-1")}, When: skip.Confirm(confirmed)},
	})
}
