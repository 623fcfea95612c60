// Package voicepackage is the aggregate of the stream packages: the packages of voices that operators have installed.
package voicepackage

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Stream is where the packages are kept.
const Stream = "packages"

// Event is one of the events below.
type Event interface{ packageEvent() }

// Installed records that a voice was installed, or replaced by another package.
type Installed struct {
	Voice       string    `json:"voice"` // id, by which clients call it
	SHA256      string    `json:"sha256"`
	Blob        string    `json:"blob"`
	Size        int64     `json:"size"` // of the blob, in bytes
	Name        string    `json:"name"`
	Gender      string    `json:"gender"`
	Description string    `json:"description,omitempty"`
	Languages   []string  `json:"languages"`
	Licence     string    `json:"licence"`
	Attribution string    `json:"attribution,omitempty"`
	Commercial  string    `json:"commercial"`
	Base        string    `json:"base,omitempty"`
	Source      string    `json:"source,omitempty"`
	Gain        float64   `json:"gain"` // dB, to the loudness of all voices
	Cost        float64   `json:"cost"` // seconds of a processor for a second of speech, where it was measured
	At          time.Time `json:"at"`
}

// Removed records that a voice was removed.
type Removed struct {
	Voice string    `json:"voice"`
	At    time.Time `json:"at"`
}

func (Installed) packageEvent() {}
func (Removed) packageEvent()   {}

// MaxPackages is how many voices may be installed.
const MaxPackages = 50

// ErrNotFound is the refusal of a voice that is not installed.
var ErrNotFound = domain.Refuse(domain.NotFound, "No such voice is installed")

// State is what is installed, in the order of its installation.
type State struct{ Packages []Installed }

// Index returns the place of a voice, or -1.
func (s State) Index(voice string) int {
	return slices.IndexFunc(s.Packages, func(p Installed) bool { return p.Voice == voice })
}

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Installed:
		s.Packages = append(without(s, e.Voice), e)
	case Removed:
		s.Packages = without(s, e.Voice)
	}
	return s
}

func without(s State, voice string) []Installed {
	return slices.DeleteFunc(slices.Clone(s.Packages), func(p Installed) bool { return p.Voice == voice })
}

// Install installs a voice, or replaces the package of one. The same package again has no effect.
type Install Installed

// Decide refuses more packages than a machine can hold.
func (c Install) Decide(s State) ([]Event, error) {
	i := s.Index(c.Voice)
	switch {
	case c.Voice == "" || c.SHA256 == "" || c.Blob == "":
		return nil, domain.Refuse(domain.Invalid, "A package needs a voice, a hash and a blob")
	case i >= 0 && s.Packages[i].SHA256 == c.SHA256:
		return nil, nil
	case i < 0 && len(s.Packages) >= MaxPackages:
		return nil, domain.Refuse(domain.Rejected, "There are 50 installed voices, the most there can be")
	}
	return []Event{Installed(c)}, nil
}

// Remove removes a voice.
type Remove struct {
	Voice string
	At    time.Time
}

// Decide refuses a voice that is not installed.
func (c Remove) Decide(s State) ([]Event, error) {
	if s.Index(c.Voice) < 0 {
		return nil, ErrNotFound
	}
	return []Event{Removed(c)}, nil
}
