package roster

import (
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/voice"
)

// Refusals.
var (
	errEnded   = domain.Refuse(domain.Unauthenticated, "The account is closed")
	errTooMany = domain.Refuse(domain.Rejected, "Too many voices were created with an Idempotency-Key within 24 hours; "+
		"create it without one, or later")
)

// Limits are the limits on the number of an account's voices.
type Limits struct {
	Plan plan.Plan
	Most int // of both types, on any plan
}

// Take takes a place for a voice that is about to be created. Taking it again has no effect.
type Take struct {
	Account string
	Voice   string
	Type    voice.Type
	Limits  Limits
	domain.Repetition
	At time.Time
}

// Decide returns no event for a repetition: Repeated returns its voice. It refuses a voice that exceeds the limits. A
// change to a smaller plan removes no voice.
func (c Take) Decide(s State) ([]Event, error) {
	known, err := c.Repeated(s)
	if err != nil || known != "" {
		return nil, err
	}
	if _, taken := s.Place(c.Voice); taken {
		return nil, nil
	}
	if s.Ended {
		return nil, errEnded
	}
	if err := c.Limits.room(s, c.Type); err != nil {
		return nil, err
	}
	if c.Key != "" && len(s.requestsAt(c.At)) >= MaxRemembered {
		return nil, errTooMany
	}
	return []Event{PlaceTaken{Account: c.Account, Voice: c.Voice, Type: c.Type, Repetition: c.Repetition, At: c.At}}, nil
}

// Repeated returns the voice that an earlier request with the same key has created, or "" if there is none. It refuses
// a request with other content.
func (c Take) Repeated(s State) (string, error) {
	for _, earlier := range s.Requests {
		if repeats, err := c.Repeats(earlier.Repetition, earlier.At, c.At); repeats || err != nil {
			return earlier.Voice, err
		}
	}
	return "", nil
}

// Room refuses an account that can have no other voice of either type.
func (l Limits) Room(s State) error {
	if s.Ended {
		return errEnded
	}
	err := l.room(s, voice.Instant)
	if err != nil && l.room(s, voice.Professional) == nil {
		return nil
	}
	return err
}

func (l Limits) room(s State, of voice.Type) error {
	limit := l.Plan.InstantVoices
	if of == voice.Professional {
		limit = l.Plan.ProfessionalVoices
	}
	switch {
	case len(s.Places) >= l.Most:
		return domain.Refuse(domain.PaymentRequired, fmt.Sprintf("The account has %d voices, the most it can have",
			len(s.Places)))
	case !l.Plan.Unlimited && s.Count(of) >= limit:
		return domain.Refuse(domain.PaymentRequired,
			fmt.Sprintf("The plan includes %d %s voices; delete one, or change the plan", limit, of))
	}
	return nil
}

// Free frees the places of voices that were erased, or never created.
type Free struct {
	Voices    []string
	Abandoned bool
	At        time.Time
}

// Decide returns no event for voices without a place.
func (c Free) Decide(s State) (events []Event, err error) {
	for _, id := range c.Voices {
		if place, taken := s.Place(id); taken {
			events = append(events, PlaceFreed{Account: s.Account, Voice: id, Type: place.Type, Abandoned: c.Abandoned,
				At: c.At})
		}
	}
	return events, nil
}

// End records that the account is closed.
type End Ended

// Decide returns no event for an account that was closed before.
func (c End) Decide(s State) ([]Event, error) {
	if s.Ended {
		return nil, nil
	}
	return []Event{Ended(c)}, nil
}
