// Package star is the aggregate of the streams stars-<account>: the voices that an account has starred, its own and the
// system's.
package star

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Event is one of the events below.
type Event interface{ starEvent() }

// Starred records that an account has starred a voice.
type Starred struct {
	Account string    `json:"account"`
	Voice   string    `json:"voice"`
	At      time.Time `json:"at"`
}

// Unstarred records that the account has withdrawn the star, or that the voice was deleted.
type Unstarred struct {
	Account string    `json:"account"`
	Voice   string    `json:"voice"`
	At      time.Time `json:"at"`
}

// SnapshotTaken repeats the state, so that a load need not read older events.
type SnapshotTaken struct {
	Account string    `json:"account"`
	Voices  []string  `json:"voices"`
	At      time.Time `json:"at"`
}

func (Starred) starEvent()       {}
func (Unstarred) starEvent()     {}
func (SnapshotTaken) starEvent() {}

// ReplacesState implements domain.Snapshot.
func (SnapshotTaken) ReplacesState() {}

// StreamPrefix begins the names of the streams. The account's id follows it.
const StreamPrefix = "stars-"

// Stream returns the name of an account's stream.
func Stream(account string) string { return StreamPrefix + account }

// MaxStars is the maximum number of starred voices of an account. It exceeds the number of voices that an account can
// have.
const MaxStars = 20_000

// State is the list of an account's starred voices.
type State struct {
	Account       string
	Voices        []string
	SinceSnapshot int // events
}

// Has reports whether a voice is starred.
func (s State) Has(voice string) bool { return slices.Contains(s.Voices, voice) }

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	s.SinceSnapshot++
	switch e := event.(type) {
	case Starred:
		s.Account, s.Voices = e.Account, append(slices.Clip(s.Voices), e.Voice)
	case Unstarred:
		s.Voices = slices.DeleteFunc(slices.Clone(s.Voices), func(v string) bool { return v == e.Voice })
	case SnapshotTaken:
		s = State{Account: e.Account, Voices: e.Voices}
	}
	return s
}

// Set stars a voice, or withdraws its star. It has no effect if that is the state already.
type Set struct {
	Account string
	Voice   string
	Starred bool
	At      time.Time
}

// Decide refuses too many stars.
func (c Set) Decide(s State) ([]Event, error) {
	switch {
	case s.Has(c.Voice) == c.Starred:
		return nil, nil
	case !c.Starred:
		return []Event{Unstarred{Account: c.Account, Voice: c.Voice, At: c.At}}, nil
	case len(s.Voices) >= MaxStars:
		return nil, domain.Refuse(domain.Denied, "The account has starred 20000 voices, the most it can star")
	}
	return []Event{Starred{Account: c.Account, Voice: c.Voice, At: c.At}}, nil
}

// Withdraw withdraws the stars of deleted voices.
type Withdraw struct {
	Voices []string
	At     time.Time
}

// Decide returns no event for voices without a star.
func (c Withdraw) Decide(s State) (events []Event, err error) {
	for _, id := range c.Voices {
		if s.Has(id) {
			events = append(events, Unstarred{Account: s.Account, Voice: id, At: c.At})
		}
	}
	return events, nil
}

// snapshotEvery is the minimum number of events between snapshots.
const snapshotEvery = 100

// Snapshot returns a snapshot if one is due. The more stars, the rarer they are.
func (s State) Snapshot(at time.Time) []Event {
	if s.SinceSnapshot < max(snapshotEvery, len(s.Voices)/10) {
		return nil
	}
	return []Event{SnapshotTaken{Account: s.Account, Voices: s.Voices, At: at}}
}
