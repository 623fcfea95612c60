// Package feedback is the aggregate of stream feedback-<id>: what somebody thinks of a synthesis. All of their own words
// are sealed with the account's key.
package feedback

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// Event is one of the events below.
type Event interface{ feedbackEvent() }

// Given is an opinion.
type Given struct {
	Feedback string    `json:"feedback"`
	Account  string    `json:"account"`
	Rating   Rating    `json:"rating"`
	Sealed   []byte    `json:"sealed"` // a Content in JSON, for use SealedFor
	At       time.Time `json:"at"`
}

func (Given) feedbackEvent() {}

// Rating is what is thought, in short.
type Rating string

// The ratings.
const (
	ThumbsUp   Rating = "thumbsUp"
	ThumbsDown Rating = "thumbsDown"
)

// Content is what may hold any text of a client.
type Content struct {
	About   string `json:"about"` // the id that the client gave: that of a synthesis
	Text    string `json:"text,omitempty"`
	Context string `json:"context,omitempty"`
}

// Stream is where an opinion is.
func Stream(id string) string { return "feedback-" + id }

// SealedFor is the use that an opinion's Content is sealed for.
func SealedFor(id string) string { return "feedback/" + id }

// State tells whether the opinion was given.
type State struct{ Given bool }

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	if _, given := event.(Given); given {
		s.Given = true
	}
	return s
}

// Give gives an opinion. Giving it again changes nothing.
type Give Given

// Decide refuses an opinion that says nothing.
func (c Give) Decide(s State) ([]Event, error) {
	switch {
	case c.Rating != ThumbsUp && c.Rating != ThumbsDown:
		return nil, domain.Refuse(domain.Invalid, "a rating is thumbsUp or thumbsDown")
	case c.Feedback == "", c.Account == "", len(c.Sealed) == 0:
		return nil, domain.Refuse(domain.Invalid, "feedback needs an id, an account and what it is about")
	case s.Given:
		return nil, nil
	}
	return []Event{Given(c)}, nil
}
