package billing

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/recital-tts/recital/domain/subscription"
)

// SecondSubscription is a subscription that runs in addition to a newer one of its account, which pays both. Recital
// never makes a second one: it was made by hand at the provider.
type SecondSubscription struct {
	Account, Subscription, Newer string
	At                           time.Time
}

// alertSecond raises the alerts of the subscriptions that a look finds running beside a newer one. They come before the
// look is recorded, so that no crash can swallow them.
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
