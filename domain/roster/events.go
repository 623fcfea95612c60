// Package roster is the aggregate of the streams voices-<account>: the voices that take places of an account's plan,
// and the repeatable requests that created them.
package roster

import (
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/voice"
)

// Event is one of the events below.
type Event interface{ rosterEvent() }

// PlaceTaken records that a voice takes a place. It comes before the voice's own first event.
type PlaceTaken struct {
	Account string     `json:"account"`
	Voice   string     `json:"voice"`
	Type    voice.Type `json:"type"`
	domain.Repetition
	At time.Time `json:"at"`
}

// PlaceFreed records that a voice no longer takes a place.
type PlaceFreed struct {
	Account   string     `json:"account"`
	Voice     string     `json:"voice"`
	Type      voice.Type `json:"type"`
	Abandoned bool       `json:"abandoned"` // the voice was never created, so a repeated request creates another
	At        time.Time  `json:"at"`
}

// Ended records that the account is closed. No more places can be taken.
type Ended struct {
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

func (PlaceTaken) rosterEvent() {}
func (PlaceFreed) rosterEvent() {}
func (Ended) rosterEvent()      {}

// StreamPrefix begins the names of the streams. The account's id follows it.
const StreamPrefix = "voices-"

// Stream returns the name of an account's stream.
func Stream(account string) string { return StreamPrefix + account }
