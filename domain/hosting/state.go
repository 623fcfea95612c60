package hosting

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Patience is how long a change may be under way before a crash is assumed.
const Patience = 30 * time.Second

// State has the connections and variables of an account.
type State struct {
	Account     string
	Connections map[string]Connected // by configuration
	Variables   []Variable
	Ended       bool
}

// Variable is an environment variable that holds an API key.
type Variable struct {
	VariableBegun
	ID       string    // the platform's; "" until the platform has confirmed the key
	Removing bool      // it is about to be removed
	Since    time.Time // start of this phase
}

// Settled reports whether no change of the variable is under way.
func (v Variable) Settled() bool { return v.ID != "" && !v.Removing }

// Rest returns how long a request may still be changing the variable.
func (v Variable) Rest(now time.Time) time.Duration {
	if v.Settled() {
		return 0
	}
	return max(0, Patience-now.Sub(v.Since))
}

// Variable returns the variable in a project, given by its id.
func (s State) Variable(config, project string) (Variable, bool) {
	return domain.First(s.Variables, func(v Variable) bool { return v.Config == config && v.Project == project })
}

func (s State) byHash(hash string) (Variable, bool) {
	return domain.First(s.Variables, func(v Variable) bool { return v.Hash == hash })
}

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Connected:
		s.Account, s.Connections = e.Account, domain.With(s.Connections, e.Config, e)
	case VariableBegun:
		s.Variables = append(slices.Clip(s.Variables), Variable{VariableBegun: e, Since: e.At})
	case VariableSet:
		s = s.with(e.Hash, func(v *Variable) { v.ID, v.Since = e.Variable, e.At })
	case VariableRemovalBegun:
		s = s.with(e.Hash, func(v *Variable) { v.Removing, v.Since = true, e.At })
	case VariableRemoved:
		s.Variables = slices.DeleteFunc(slices.Clone(s.Variables), func(v Variable) bool { return v.Hash == e.Hash })
	case Ended:
		s.Ended = true
	}
	return s
}

func (s State) with(hash string, change func(*Variable)) State {
	s.Variables = slices.Clone(s.Variables)
	for i := range s.Variables {
		if s.Variables[i].Hash == hash {
			change(&s.Variables[i])
		}
	}
	return s
}
