package notice

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

const (
	// Patience is the time after its cause in which a notice is sent.
	Patience = 24 * time.Hour
	// perHour is the maximum number of notices to an account about an hour on a channel, and perHourOperators to
	// operators.
	perHour          = 20
	perHourOperators = 100
)

// State has the outcomes of the notices about an hour.
type State struct {
	ended   map[place]bool
	counts  map[Channel]int
	reached map[Channel]bool // the limit
}

type place struct {
	channel Channel
	notice  string
}

// Ended reports whether a notice has an outcome on a channel.
func (s State) Ended(c Channel, notice string) bool { return s.ended[place{c, notice}] }

// Exceeds reports whether a further notice to a recipient is too much on a channel.
func (s State) Exceeds(c Channel, account string) bool {
	limit := perHour
	if account == "" {
		limit = perHourOperators
	}
	return s.reached[c] || s.counts[c] >= limit
}

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Ended:
		s.ended = domain.With(s.ended, place{e.Channel, e.Notice}, true)
		s.counts = domain.With(s.counts, e.Channel, s.counts[e.Channel]+1)
	case LimitReached:
		s.reached = domain.With(s.reached, e.Channel, true)
	}
	return s
}

// End records the outcome of a notice. Only the first outcome counts.
type End Ended

// Decide returns no event for a notice that has ended, or that exceeds the limit after the first one.
func (c End) Decide(s State) ([]Event, error) {
	switch {
	case s.Ended(c.Channel, c.Notice):
		return nil, nil
	case c.Outcome != Exceeded:
		return []Event{Ended(c)}, nil
	case s.reached[c.Channel]:
		return nil, nil
	}
	return []Event{LimitReached{Account: c.Account, Notice: c.Notice, Channel: c.Channel, At: c.At}}, nil
}
