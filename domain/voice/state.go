package voice

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Phase is the progress of a voice, in the words of the interface.
type Phase string

// The phases.
const (
	Preparing Phase = "preparing" // its recordings are being checked
	Pending   Phase = "pending"   // waits for its training
	Training  Phase = "training"
	Speaking  Phase = "ready"
	Unusable  Phase = "broken"
	Withdrawn Phase = "cancelled" // permanently: it is deleted
)

// State is the state of a voice. The zero State is a voice that was never created.
type State struct {
	Facts

	SinceSnapshot int // events
}

// Facts are the part of the state that snapshots repeat.
type Facts struct {
	Voice      string      `json:"voice"`
	Account    string      `json:"account"`
	Type       Type        `json:"type"`
	Phase      Phase       `json:"phase"`
	Sealed     []byte      `json:"sealed"`
	Enhance    bool        `json:"enhance"`
	Filter     bool        `json:"filter"`
	Recordings []Recording `json:"recordings"`
	Lengths    []int64     `json:"lengths,omitempty"` // of the recordings of a professional voice, in milliseconds
	Analyses   []Analysis  `json:"analyses,omitempty"`
	Model      Model       `json:"model"`
	Reason     string      `json:"reason,omitempty"`  // why it is broken, for programs
	Message    string      `json:"message,omitempty"` // the same for its owner
	Preview    Preview     `json:"preview"`
	CreatedAt  time.Time   `json:"createdAt"`
	Deleted    bool        `json:"deleted"`
	Erased     bool        `json:"erased"`
	Abandoned  bool        `json:"abandoned"`
}

// Exists reports whether the voice was created and not deleted.
func (s State) Exists() bool { return s.Phase != "" && !s.Deleted }

// Unfinished reports whether the voice is still being made.
func (s State) Unfinished() bool {
	return s.Exists() && (s.Phase == Preparing || s.Phase == Pending || s.Phase == Training)
}

// Needs reports whether a blob of the voice is still needed.
func (s State) Needs(blob string) bool {
	return s.Exists() && (blob == s.Model.Blob || blob == s.Preview.Blob ||
		slices.ContainsFunc(s.Recordings, func(r Recording) bool { return r.Blob == blob }) ||
		slices.ContainsFunc(s.Analyses, func(a Analysis) bool { return a.Blob == blob }))
}

// Find returns the analysis of the stretch of a recording that begins at an offset, in milliseconds.
func (s State) Find(recording int, from int64) (Analysis, bool) {
	return domain.First(s.Analyses, func(a Analysis) bool { return a.Recording == recording && a.From == from })
}

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	s.SinceSnapshot++
	switch e := event.(type) {
	case Created:
		s.Voice, s.Account, s.Type, s.Phase, s.Sealed, s.CreatedAt = e.Voice, e.Account, e.Type, Preparing, e.Sealed, e.At
		s.Enhance, s.Filter, s.Recordings = e.Enhance, e.Filter, e.Recordings
	case Changed:
		s.Sealed = e.Sealed
	case Queued:
		s.Phase, s.Lengths = Pending, e.Lengths
	case TrainingBegun:
		s.Phase = Training
	case Analysed:
		s.Analyses = append(slices.Clip(s.Analyses), e.Analysis)
	case Ready:
		s.Phase, s.Model = Speaking, e.Model
	case Broken:
		s.Phase, s.Reason, s.Message = Unusable, e.Reason, e.Message
	case Cancelled:
		s.Phase = Withdrawn
	case Deleted:
		s.Deleted = true
	case Erased:
		s.Erased = true
	case Abandoned:
		s.Voice, s.Account, s.Abandoned = e.Voice, e.Account, true
	case PreviewRendered:
		s.Preview = e.Preview
	case PreviewInvalidated:
		s.Preview = Preview{}
	case SnapshotTaken:
		s = State{Facts: e.Facts}
	}
	return s
}
