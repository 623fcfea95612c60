package stripe

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84/webhook"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// Notices implements payments.Notice.
type Notices struct{ secrets []string }

// NewNotices returns what verifies notices that are signed with any of some secrets: there are two while one is
// replaced.
func NewNotices(secrets ...string) (*Notices, error) {
	if len(secrets) == 0 {
		return nil, errors.New("there is no secret of notices")
	}
	for _, secret := range secrets {
		if strings.TrimSpace(secret) == "" {
			return nil, errors.New("a secret of notices is empty, so that anybody could sign with it")
		}
	}
	return &Notices{secrets: secrets}, nil
}

// Verify implements payments.Notice. A notice that was signed more than five minutes before or after now is forged, and
// so is one of a release train of the API that the library does not read.
func (n *Notices) Verify(body []byte, signature string, now time.Time) (payments.Event, error) {
	signed, ok := signedAt(signature)
	if !ok || now.Sub(signed).Abs() > webhook.DefaultTolerance {
		return payments.Event{}, payments.ErrForged
	}
	for _, secret := range n.secrets {
		e, err := webhook.ConstructEventWithOptions(body, signature, secret,
			webhook.ConstructEventOptions{IgnoreTolerance: true})
		if err == nil && e.ID != "" && e.Type != "" {
			return event(&e), nil
		}
	}
	return payments.Event{}, payments.ErrForged
}

// signedAt returns the time in a signature. One with two times is not the provider's, and could be read in two ways.
func signedAt(signature string) (at time.Time, ok bool) {
	for part := range strings.SplitSeq(signature, ",") {
		text, isTime := strings.CutPrefix(part, "t=")
		if !isTime {
			continue
		}
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ok {
			return time.Time{}, false
		}
		at, ok = time.Unix(seconds, 0), true
	}
	return at, ok
}
