// Package spec provides given/when/then for the domain's tests.
package spec

import (
	"errors"
	"reflect"
	"testing"

	"github.com/recital-tts/recital/domain"
)

// Case is a row of a table: the past events, a command, and its decision.
type Case[S, E any] struct {
	Name    string
	Given   []E
	When    interface{ Decide(S) ([]E, error) }
	Then    []E         // none means that the command changes nothing
	Refused domain.Code // if the command is refused
}

// Run runs a table of cases.
func Run[S, E any](t *testing.T, evolve func(S, E) S, cases []Case[S, E]) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			events, err := c.When.Decide(Fold(evolve, c.Given))
			if code := domain.CodeOf(err); code != c.Refused || (err != nil && !errors.As(err, new(*domain.Error))) {
				t.Fatalf("refused with %q (%v), want %q", code, err, c.Refused)
			}
			if len(events) != len(c.Then) || (len(events) > 0 && !reflect.DeepEqual(events, c.Then)) {
				t.Fatalf("decided\n%#v\nwant\n%#v", events, c.Then)
			}
		})
	}
}

// Fold returns the state after the events.
func Fold[S, E any](evolve func(S, E) S, events []E) S {
	var state S
	for _, event := range events {
		state = evolve(state, event)
	}
	return state
}
