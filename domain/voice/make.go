package voice

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
)

// The commands in this file record the steps of making a voice. A step may be late: another instance may have made it,
// or the voice may be deleted. Decide then returns no event, and the caller continues from the state.

// Queue queues a professional voice for its training.
type Queue struct {
	Lengths []int64 // of the recordings, in milliseconds
	At      time.Time
}

// Decide queues a voice that is preparing.
func (c Queue) Decide(s State) ([]Event, error) {
	switch {
	case !s.Exists() || s.Phase != Preparing || s.Type != Professional:
		return nil, nil
	case len(c.Lengths) != len(s.Recordings):
		return nil, domain.Refuse(domain.Invalid, "Each recording has a length")
	}
	return []Event{Queued{Voice: s.Voice, Account: s.Account, Lengths: c.Lengths, At: c.At}}, nil
}

// BeginTraining begins the training of a voice that waits for it.
type BeginTraining struct{ At time.Time }

// Decide begins once.
func (c BeginTraining) Decide(s State) ([]Event, error) {
	if !s.Exists() || s.Phase != Pending {
		return nil, nil
	}
	return []Event{TrainingBegun{Voice: s.Voice, Account: s.Account, At: c.At}}, nil
}

// RecordAnalysis records the analysis of a stretch.
type RecordAnalysis struct {
	Analysis Analysis
	Total    int // stretches of all recordings
	At       time.Time
}

// Decide records each stretch once, of a voice that is being made.
func (c RecordAnalysis) Decide(s State) ([]Event, error) {
	_, known := s.Find(c.Analysis.Recording, c.Analysis.From)
	making := s.Type == Instant && s.Phase == Preparing || s.Type == Professional && s.Phase == Training
	switch {
	case known || !making || !s.Exists():
		return nil, nil
	case c.Analysis.Recording < 0, c.Analysis.Recording >= len(s.Recordings), c.Analysis.Blob == "":
		return nil, domain.Refuse(domain.Invalid, "An analysis is one of a recording, and kept in a blob")
	}
	done := len(s.Analyses) + 1
	return []Event{Analysed{Voice: s.Voice, Account: s.Account, Analysis: c.Analysis, Done: done,
		Total: max(done, c.Total), At: c.At}}, nil
}

// Finish records the model of a voice.
type Finish struct {
	Model Model
	At    time.Time
}

// Decide finishes a voice that is being made, after the analysis of its recordings.
func (c Finish) Decide(s State) ([]Event, error) {
	switch {
	case !s.Unfinished() || s.Phase == Pending || s.Type == Professional && s.Phase == Preparing:
		return nil, nil
	case c.Model.Blob == "" || c.Model.Engine == "" || c.Model.SHA256 == "" || c.Model.Bytes <= 0 || len(s.Analyses) == 0:
		return nil, domain.Refuse(domain.Invalid, "A voice is ready by its model, which follows from analyses")
	}
	return []Event{Ready{Voice: s.Voice, Account: s.Account, Model: c.Model, At: c.At}}, nil
}

// Break records that no voice can be made from the recordings.
type Break struct {
	Reason  string
	Message string
	At      time.Time
}

// Decide breaks a voice that is being made.
func (c Break) Decide(s State) ([]Event, error) {
	switch {
	case !s.Unfinished():
		return nil, nil
	case c.Reason == "" || c.Message == "":
		return nil, domain.Refuse(domain.Invalid, "A voice is broken for a reason")
	}
	return []Event{Broken{Voice: s.Voice, Account: s.Account, Reason: c.Reason, Message: c.Message, At: c.At}}, nil
}

// RecordPreview records that there is a preview.
type RecordPreview struct {
	Preview Preview
	At      time.Time
}

// Decide records one preview of a voice that is ready.
func (c RecordPreview) Decide(s State) ([]Event, error) {
	switch {
	case !s.NeedsPreview():
		return nil, nil
	case c.Preview.Blob == "" || c.Preview.SHA256 == "" || c.Preview.Bytes <= 0:
		return nil, domain.Refuse(domain.Invalid, "A preview has audio")
	}
	return []Event{PreviewRendered{Voice: s.Voice, Account: s.Account, Preview: c.Preview, At: c.At}}, nil
}

// NeedsPreview reports whether a preview is to be rendered.
func (s State) NeedsPreview() bool { return s.Exists() && s.Phase == Speaking && s.Preview.Blob == "" }

// InvalidatePreview requests a new preview.
type InvalidatePreview struct {
	Account string
	At      time.Time
}

// Decide refuses a voice that the account does not have. It returns no event if a preview is still to be rendered.
func (c InvalidatePreview) Decide(s State) ([]Event, error) {
	if err := s.RequireOf(c.Account); err != nil || s.Preview.Blob == "" {
		return nil, err
	}
	return []Event{PreviewInvalidated{Voice: s.Voice, Account: s.Account, Blob: s.Preview.Blob, At: c.At}}, nil
}

// Speech returns the length of the analysed speech to which a voice is fitted.
func (s State) Speech() time.Duration {
	var speech int64
	for _, a := range s.Analyses {
		speech += a.Speech
	}
	return time.Duration(speech) * time.Millisecond
}

// InOrder returns the analyses in the order of the recordings, in which the voice is fitted to them.
func (s State) InOrder() []Analysis {
	return slices.SortedFunc(slices.Values(s.Analyses), func(a, b Analysis) int {
		if a.Recording != b.Recording {
			return a.Recording - b.Recording
		}
		return int(a.From - b.From)
	})
}
