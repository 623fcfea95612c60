// Package pronunciation is the aggregate of the streams pronunciations-<account>: an account's own pronunciations of
// words.
package pronunciation

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Event is one of the events below.
type Event interface{ pronunciationEvent() }

// Set records an entry of an account's list, or a change of it.
type Set struct {
	Account string    `json:"account"`
	Entry   string    `json:"entry"`
	Sealed  []byte    `json:"sealed"` // a Content in JSON, sealed for SealedFor
	At      time.Time `json:"at"`
}

// Removed records that an entry was removed.
type Removed struct {
	Account string    `json:"account"`
	Entry   string    `json:"entry"`
	At      time.Time `json:"at"`
}

// SnapshotTaken repeats the state, so that a load need not read older events.
type SnapshotTaken struct {
	Account string    `json:"account"`
	Entries []Entry   `json:"entries"`
	At      time.Time `json:"at"`
}

func (Set) pronunciationEvent()           {}
func (Removed) pronunciationEvent()       {}
func (SnapshotTaken) pronunciationEvent() {}

// ReplacesState implements domain.Snapshot.
func (SnapshotTaken) ReplacesState() {}

// Content is the part of an entry that the client has set.
type Content struct {
	Word     string `json:"word"`
	Spoken   string `json:"spoken,omitempty"`   // a respelling
	IPA      string `json:"ipa,omitempty"`      // phonemes, in place of Spoken
	Language string `json:"language,omitempty"` // a code as the client wrote it; "" for every language
}

// Entry is an entry of a list.
type Entry struct {
	ID     string    `json:"id"`
	Sealed []byte    `json:"sealed"` // see Set
	At     time.Time `json:"at"`     // of its last change
}

// StreamPrefix begins the names of the streams. The account's id follows it.
const StreamPrefix = "pronunciations-"

// Stream returns the name of an account's stream.
func Stream(account string) string { return StreamPrefix + account }

// SealedFor returns the purpose for which the Content of an entry is sealed.
func SealedFor(entry string) string { return "pronunciation/" + entry }

// Limits of a list. A snapshot repeats all of it in one event.
const (
	MaxEntries = 1000
	MaxBytes   = 384 << 10 // of sealed content
)

// ErrNotFound refuses an entry that the list does not have.
var ErrNotFound = domain.Refuse(domain.NotFound, "There is no such pronunciation")

// State is the list of an account, in the order of addition.
type State struct {
	Account       string
	Entries       []Entry
	SinceSnapshot int // events
}

// Index returns the index of an entry, or -1.
func (s State) Index(id string) int {
	return slices.IndexFunc(s.Entries, func(e Entry) bool { return e.ID == id })
}

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	s.SinceSnapshot++
	switch e := event.(type) {
	case Set:
		s.Account = e.Account
		entry := Entry{ID: e.Entry, Sealed: e.Sealed, At: e.At}
		if i := s.Index(e.Entry); i >= 0 {
			s.Entries = slices.Clone(s.Entries)
			s.Entries[i] = entry
		} else {
			s.Entries = append(slices.Clip(s.Entries), entry)
		}
	case Removed:
		s.Entries = slices.DeleteFunc(slices.Clone(s.Entries), func(entry Entry) bool { return entry.ID == e.Entry })
	case SnapshotTaken:
		s = State{Account: e.Account, Entries: e.Entries}
	}
	return s
}

// SetEntry adds an entry or replaces one. If the content is unchanged, it is not sealed again, and Sealed is empty.
type SetEntry Set

// Decide refuses an entry for which the list has no room.
func (c SetEntry) Decide(s State) ([]Event, error) {
	bytes, replaced := len(c.Sealed), s.Index(c.Entry)
	for i, e := range s.Entries {
		if i != replaced {
			bytes += len(e.Sealed)
		}
	}
	switch {
	case c.Account == "" || c.Entry == "":
		return nil, domain.Refuse(domain.Invalid, "A pronunciation needs an account and an id")
	case len(c.Sealed) == 0:
		return nil, nil
	case replaced < 0 && len(s.Entries) >= MaxEntries:
		return nil, domain.Refuse(domain.Denied, "The account has 1000 pronunciations, the most it can have")
	case bytes > MaxBytes:
		return nil, domain.Refuse(domain.Denied, "The account's pronunciations are too long together")
	}
	return []Event{Set(c)}, nil
}

// Remove removes an entry.
type Remove struct {
	Entry string
	At    time.Time
}

// Decide refuses an entry that the list does not have.
func (c Remove) Decide(s State) ([]Event, error) {
	if s.Index(c.Entry) < 0 {
		return nil, ErrNotFound
	}
	return []Event{Removed{Account: s.Account, Entry: c.Entry, At: c.At}}, nil
}

// snapshotEvery is the minimum number of events between snapshots.
const snapshotEvery = 100

// Snapshot returns a snapshot if one is due. The longer the list, the rarer they are.
func (s State) Snapshot(at time.Time) []Event {
	if s.SinceSnapshot < max(snapshotEvery, len(s.Entries)) {
		return nil
	}
	return []Event{SnapshotTaken{Account: s.Account, Entries: s.Entries, At: at}}
}
