// Package spec provides given/when/then for the domain's tests.
package spec

import (
	"encoding/json"
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
	Then    []E         // empty if the command has no effect
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

// TB is the part of testing.TB that FromSnapshot needs; a *rapid.T has it, too.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// FromSnapshot returns the state that results from a snapshot, decoded as from the log. It fails unless the state is
// the same after any known state: a snapshot replaces the state. Each aggregate with snapshots calls it.
func FromSnapshot[S, E any](t TB, evolve func(S, E) S, snapshot []E, known ...S) S {
	t.Helper()
	decoded := make([]E, len(snapshot))
	for i, event := range snapshot {
		decoded[i] = recoded(t, event)
	}
	alone := Fold(evolve, decoded)
	for _, state := range known {
		for _, event := range decoded {
			state = evolve(state, event)
		}
		if !reflect.DeepEqual(state, alone) {
			t.Fatalf("a snapshot results in\n%#v\nwhere more was known, and alone in\n%#v", state, alone)
		}
	}
	return alone
}

// recoded returns an event as it is decoded from the log.
func recoded[E any](t TB, event E) E {
	t.Helper()
	data, err := json.Marshal(event)
	if err != nil {
		t.Fatalf("encoding %T: %v", event, err)
	}
	read := reflect.New(reflect.TypeOf(event))
	if err := json.Unmarshal(data, read.Interface()); err != nil {
		t.Fatalf("decoding %T: %v", event, err)
	}
	decoded, _ := read.Elem().Interface().(E)
	return decoded
}
