package alert

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// Raise raises an alert. Raising it again changes nothing.
type Raise struct {
	Alert   string
	Source  string
	Subject string
	Reason  Reason
	At      time.Time
}

// Decide refuses an alert without a source, a subject or a reason.
func (c Raise) Decide(s State) ([]Event, error) {
	if c.Alert == "" || c.Source == "" || c.Subject == "" || c.Reason == "" {
		return nil, domain.Refuse(domain.Invalid, "An alert needs an id, a source, a subject and a reason")
	}
	if s.Raised[c.Alert] {
		return nil, nil
	}
	return []Event{Raised(c)}, nil
}
