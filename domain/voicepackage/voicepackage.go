// Package voicepackage is the aggregate of the stream packages: the packages of voices that operators have installed.
package voicepackage

import (
	"maps"
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Stream is the only stream of its kind.
const Stream = "packages"

// Event is one of the events below.
type Event interface{ packageEvent() }

// Installed records that a voice was installed, or replaced by another package.
type Installed struct {
	Voice       string    `json:"voice"` // id by which clients select it
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
	OwnName     bool      `json:"own_name,omitempty"` // the licence requires its own name
	Gain        float64   `json:"gain"`               // dB, to the common loudness
	Cost        float64   `json:"cost"`               // processor seconds per second of speech, as measured
	Sound       string    `json:"sound,omitempty"`    // the measurements for making clones, in JSON; "" if unmeasured
	At          time.Time `json:"at"`
}

// Removed records that a voice was removed.
type Removed struct {
	Voice string    `json:"voice"`
	At    time.Time `json:"at"`
}

// Assigned records that an installed voice speaks for a system voice from then on, or, without a voice, that the system
// voice speaks for itself again.
type Assigned struct {
	System string    `json:"system"`
	Voice  string    `json:"voice,omitempty"`
	At     time.Time `json:"at"`
}

func (Installed) packageEvent() {}
func (Removed) packageEvent()   {}
func (Assigned) packageEvent()  {}

// MaxPackages is the maximum number of installed voices.
const MaxPackages = 50

// ErrNotFound refuses a voice that is not installed.
var ErrNotFound = domain.Refuse(domain.NotFound, "No such voice is installed")

// MinStreams is the number of concurrent streams of a voice that a machine must sustain for the voice to speak for a
// system voice, which all accounts use.
const MinStreams = 2

// State has the installed voices in the order of their installation, and the assignments to system voices.
type State struct {
	Packages []Installed
	Assigned map[string]string // ids of installed voices by the ids of the system voices for which they speak
}

// Index returns the index of a voice, or -1.
func (s State) Index(voice string) int {
	return slices.IndexFunc(s.Packages, func(p Installed) bool { return p.Voice == voice })
}

// Has reports whether a package is installed.
func (s State) Has(sha256 string) bool {
	return slices.ContainsFunc(s.Packages, func(p Installed) bool { return p.SHA256 == sha256 })
}

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Installed:
		s.Packages = append(without(s, e.Voice), e)
		if e.OwnName {
			s.Assigned = unassigned(s, e.Voice)
		}
	case Removed:
		s.Packages, s.Assigned = without(s, e.Voice), unassigned(s, e.Voice)
	case Assigned:
		s.Assigned = domain.With(s.Assigned, e.System, e.Voice)
		if e.Voice == "" {
			delete(s.Assigned, e.System)
		}
	}
	return s
}

// unassigned returns the assignments except those of a voice.
func unassigned(s State, voice string) map[string]string {
	left := maps.Clone(s.Assigned)
	maps.DeleteFunc(left, func(_, assigned string) bool { return assigned == voice })
	return left
}

func without(s State, voice string) []Installed {
	return slices.DeleteFunc(slices.Clone(s.Packages), func(p Installed) bool { return p.Voice == voice })
}

// Clones reports whether the voice permits clones. Its licence must neither require the voice's own name nor forbid
// commercial use.
func (p Installed) Clones() bool { return p.Sound != "" && !p.OwnName && p.Commercial != "no" }

// Install installs a voice, or replaces its package. The same package again has no effect, unless only the new one has
// the measurements for clones.
type Install Installed

// Decide refuses more packages than a machine can hold.
func (c Install) Decide(s State) ([]Event, error) {
	i := s.Index(c.Voice)
	switch {
	case c.Voice == "" || c.SHA256 == "" || c.Blob == "":
		return nil, domain.Refuse(domain.Invalid, "A package needs a voice, a hash and a blob")
	case i >= 0 && s.Packages[i].SHA256 == c.SHA256 && (c.Sound == "" || s.Packages[i].Sound != ""):
		return nil, nil
	case i < 0 && len(s.Packages) >= MaxPackages:
		return nil, domain.Refuse(domain.Rejected, "There are 50 installed voices, the most there can be")
	}
	return []Event{Installed(c)}, nil
}

// Remove removes a voice.
type Remove Removed

// Decide refuses a voice that is not installed.
func (c Remove) Decide(s State) ([]Event, error) {
	if s.Index(c.Voice) < 0 {
		return nil, ErrNotFound
	}
	return []Event{Removed(c)}, nil
}

// Assign makes an installed voice speak for a system voice. Without a voice, the system voice speaks for itself again.
type Assign struct {
	System  string
	Voice   string
	Streams int // concurrent streams of the voice that this machine sustains
	At      time.Time
}

// Decide refuses a voice whose licence requires its own name, or of which the machine sustains too few streams.
func (c Assign) Decide(s State) ([]Event, error) {
	i := s.Index(c.Voice)
	switch {
	case c.Voice != "" && i < 0:
		return nil, ErrNotFound
	case s.Assigned[c.System] == c.Voice:
		return nil, nil
	case c.Voice != "" && s.Packages[i].OwnName:
		return nil, domain.Refuse(domain.Rejected, "The licence of this voice has it called by its own name")
	case c.Voice != "" && c.Streams < MinStreams:
		return nil, domain.Refuse(domain.Rejected,
			"This instance carries fewer than two streams of this voice, too few for a system voice")
	}
	return []Event{Assigned{System: c.System, Voice: c.Voice, At: c.At}}, nil
}
