package stripe

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"
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

// Verify implements payments.Notice. A notice that was signed more than five minutes before or after now is forged. An
// endpoint has the version of the API that was current when somebody made it. What is read of a notice is the same in
// all of them.
func (n *Notices) Verify(body []byte, signature string, now time.Time) (payments.Event, error) {
	signed, ok := signedAt(signature)
	if !ok || now.Sub(signed).Abs() > webhook.DefaultTolerance {
		return payments.Event{}, payments.ErrForged
	}
	for _, secret := range n.secrets {
		options := webhook.ConstructEventOptions{IgnoreTolerance: true, IgnoreAPIVersionMismatch: true}
		e, err := webhook.ConstructEventWithOptions(body, signature, secret, options)
		if err == nil && e.ID != "" && e.Type != "" {
			return noticed(&e, signed), nil
		}
	}
	return payments.Event{}, payments.ErrForged
}

// earliest is a time, in Unix seconds, before which there was no provider: the year 2000.
const earliest = 946_684_800

// noticed returns the event of a notice. Where its time cannot be right, that of the signature takes its place.
func noticed(e *stripe.Event, signed time.Time) payments.Event {
	noticed := event(e)
	noticed.OtherVersion = train(e.APIVersion) != train(stripe.APIVersion)
	if e.Created < earliest || e.Created > signed.Add(webhook.DefaultTolerance).Unix() {
		noticed.CreatedAt = signed.UTC()
	}
	return noticed
}

// train returns the release train of a version of the API, such as clover of 2026-02-25.clover.
func train(version string) string {
	_, name, _ := strings.Cut(version, ".")
	return name
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
