package alert

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// Clear clears an alert that was raised once. Clearing it again changes nothing.
type Clear struct {
	Alert string
	At    time.Time
}

// Decide refuses to clear no alert. Whether the alert was raised is for the caller to know: the stream has no end and is not
// read for it.
func (c Clear) Decide(s State) ([]Event, error) {
	if c.Alert == "" {
		return nil, domain.Refuse(domain.Invalid, "Which alert is to be cleared is missing")
	}
	if s.Cleared[c.Alert] {
		return nil, nil
	}
	return []Event{Cleared(c)}, nil
}
