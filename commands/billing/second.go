package billing

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/recital-tts/recital/domain/subscription"
)

// SecondSubscription is a subscription that runs in addition to a newer one, so that the account pays both. Recital
// never creates a second one: it was created manually at the provider.
type SecondSubscription struct {
	Account, Subscription, Newer string
	At                           time.Time
}

// alertSecond raises the alerts of the subscriptions that a look finds running in addition to a newer one. It is called
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
		err = errors.Join(err, b.AlertSecond(ctx, SecondSubscription{
			Account: s.Account, Subscription: id, Newer: newest.Subscription, At: seen.At,
		}))
	}
	return err
}
