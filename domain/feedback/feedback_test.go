package feedback_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/feedback"
	"github.com/recital-tts/recital/domain/spec"
)

func TestGive(t *testing.T) {
	give := func(change ...func(*feedback.Give)) feedback.Give {
		c := feedback.Give{Feedback: "f1", Account: "a1", Rating: feedback.ThumbsUp, Sealed: []byte{1}, At: time.Unix(0, 0)}
		for _, f := range change {
			f(&c)
		}
		return c
	}
	given := feedback.Given(give())
	var many []feedback.Event
	for i := range feedback.MaxPerSynthesis {
		many = append(many, feedback.Given{Feedback: fmt.Sprint("other", i)})
	}
	spec.Run(t, feedback.Evolve, []spec.Case[feedback.State, feedback.Event]{
		{Name: "an opinion is given", When: give(), Then: []feedback.Event{given}},
		{Name: "once", Given: []feedback.Event{given}, When: give()},
		{Name: "after others", Given: many[1:], When: give(), Then: []feedback.Event{given}},
		{Name: "but not after too many", Given: many, When: give(), Refused: domain.Rejected},
		{Name: "it says something", When: give(func(c *feedback.Give) { c.Rating = "perhaps" }), Refused: domain.Invalid},
		{Name: "it is about something", When: give(func(c *feedback.Give) { c.Sealed = nil }), Refused: domain.Invalid},
		{Name: "it is somebody's", When: give(func(c *feedback.Give) { c.Account = "" }), Refused: domain.Invalid},
	})
}
