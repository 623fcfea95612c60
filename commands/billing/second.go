package billing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/subscription"
)

// Beside stands between the subscriptions in the subject of an alert.
const Beside = " beside "

// alertSecond raises the alerts of the subscriptions that a look finds running in addition to a newer one, so that the
// account pays both. Recital never creates a second one: it was created manually at the provider. alertSecond is called
// before the look is recorded, so that a crash cannot lose them.
func (b *Billing) alertSecond(ctx context.Context, seen subscription.Observe, s subscription.State) error {
	events, err := seen.Decide(s)
	if err != nil {
		return err
	}
	after := s
	for _, event := range events {
		after = subscription.Evolve(after, event)
	}
	newest, _ := after.Current()
	known, _ := s.Current()
	for _, id := range after.Others() {
		if newest.Subscription == known.Subscription && slices.Contains(s.Others(), id) {
			continue
		}
		err = errors.Join(err, b.Alert(ctx, Occasion{
			Source: alert.PaymentsSource, Subject: id + Beside + newest.Subscription, Reason: alert.Doubled, At: seen.At,
			Detail: fmt.Sprintf("account %s pays both, and the newer one counts", s.Account),
		}))
	}
	return err
}
