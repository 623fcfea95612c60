package roster

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/voice"
)

// Patience is the time that the creation of a voice may take after its place is taken. A longer one was cut short by a
// crash.
const Patience = time.Minute

// MaxRemembered is the maximum number of requests with keys that are remembered. It bounds the state.
const MaxRemembered = 2000

// State has the taken places of an account's plan.
type State struct {
	Facts

	SinceSnapshot int // events
}

// Facts are the part of the state that snapshots repeat.
type Facts struct {
	Account  string    `json:"account"`
	Places   []Place   `json:"places"`
	Requests []Request `json:"requests"` // oldest first
	Ended    bool      `json:"ended"`
}

// Place is the place of a voice.
type Place struct {
	Voice string     `json:"voice"`
	Type  voice.Type `json:"type"`
}

// Request is a request that its client may repeat.
type Request struct {
	domain.Repetition
	Voice string    `json:"voice"` // the voice that it created
	At    time.Time `json:"at"`
}

// Count returns the number of places that voices of a type take.
func (s State) Count(of voice.Type) (n int) {
	for _, p := range s.Places {
		if p.Type == of {
			n++
		}
	}
	return n
}

// Place returns the place of a voice.
func (s State) Place(id string) (Place, bool) {
	return domain.First(s.Places, func(p Place) bool { return p.Voice == id })
}

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	s.SinceSnapshot++
	switch e := event.(type) {
	case PlaceTaken:
		s.Account, s.Places = e.Account, append(slices.Clip(s.Places), Place{Voice: e.Voice, Type: e.Type})
		if e.Key != "" {
			s.Requests = append(s.requestsAt(e.At), Request{Repetition: e.Repetition, Voice: e.Voice, At: e.At})
		}
	case PlaceFreed:
		s.Places = slices.DeleteFunc(slices.Clone(s.Places), func(p Place) bool { return p.Voice == e.Voice })
		if e.Abandoned {
			s.Requests = slices.DeleteFunc(slices.Clone(s.Requests), func(r Request) bool { return r.Voice == e.Voice })
		}
	case Ended:
		s.Account, s.Ended = e.Account, true
	case SnapshotTaken:
		s = State{Facts: e.Facts}
	}
	return s
}

// requestsAt returns the requests that are remembered at a time.
func (s State) requestsAt(now time.Time) []Request {
	return slices.DeleteFunc(slices.Clone(s.Requests),
		func(r Request) bool { return now.Sub(r.At) >= domain.RememberedFor })
}
