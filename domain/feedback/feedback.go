// Package feedback is the aggregate of the streams feedback-<synthesis>: feedback on a synthesis. All free text is
// sealed with the account's key. Streams of earlier releases have an id of their own and one event.
package feedback

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Event is one of the events below.
type Event interface{ feedbackEvent() }

// Given records feedback on a synthesis.
type Given struct {
	Feedback string    `json:"feedback"`
	Account  string    `json:"account"`
	Rating   Rating    `json:"rating"`
	Sealed   []byte    `json:"sealed"` // a Content in JSON, sealed for SealedFor
	At       time.Time `json:"at"`
}

func (Given) feedbackEvent() {}

// Rating is a verdict in one word.
type Rating string

// The ratings.
const (
	ThumbsUp   Rating = "thumbsUp"
	ThumbsDown Rating = "thumbsDown"
)

// Content holds the free text of the client.
type Content struct {
	About   string `json:"about"` // the id that the client sent, usually of a synthesis
	Text    string `json:"text,omitempty"`
	Context string `json:"context,omitempty"`
}

// StreamPrefix begins the names of the streams of feedback. The id of the synthesis follows it.
const StreamPrefix = "feedback-"

// Stream returns the name of the stream of the feedback on a synthesis.
func Stream(synthesis string) string { return StreamPrefix + synthesis }

// SealedFor returns the purpose for which the Content of a piece of feedback is sealed.
func SealedFor(id string) string { return "feedback/" + id }

// MaxPerSynthesis is the number of pieces of feedback on one synthesis: they cost nothing, and stay in the log.
const MaxPerSynthesis = 20

// State has the ids of the feedback on a synthesis.
type State struct{ Given []string }

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	if given, ok := event.(Given); ok {
		s.Given = append(slices.Clip(s.Given), given.Feedback)
	}
	return s
}

// Give records feedback. Giving it again has no effect.
type Give Given

// Decide refuses feedback without content, and more than MaxPerSynthesis.
func (c Give) Decide(s State) ([]Event, error) {
	switch {
	case c.Rating != ThumbsUp && c.Rating != ThumbsDown:
		return nil, domain.Refuse(domain.Invalid, "A rating is thumbsUp or thumbsDown")
	case c.Feedback == "", c.Account == "", len(c.Sealed) == 0:
		return nil, domain.Refuse(domain.Invalid, "Feedback needs an id, an account and what it is about")
	case slices.Contains(s.Given, c.Feedback):
		return nil, nil
	case len(s.Given) >= MaxPerSynthesis:
		return nil, domain.Refuse(domain.Rejected, "There is enough feedback on this synthesis")
	}
	return []Event{Given(c)}, nil
}
