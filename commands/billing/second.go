package billing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/subscription"
)

// Beside stands between the subscriptions in the subject of an alert.
const Beside = " beside "

// alertSecond raises the alerts of the subscriptions that began between two states to run in addition to a newer one,
// so that the account pays both. Recital never creates a second one: it was created manually at the provider.
func (b *Billing) alertSecond(ctx context.Context, at time.Time, before, after subscription.State) (err error) {
	newest, _ := after.Current()
	known, _ := before.Current()
	for _, id := range after.Others() {
		if newest.Subscription == known.Subscription && slices.Contains(before.Others(), id) {
			continue
		}
		err = errors.Join(err, b.Alert(ctx, Occasion{
			Source: alert.PaymentsSource, Subject: id + Beside + newest.Subscription, Reason: alert.Doubled, At: at,
			Detail: fmt.Sprintf("account %s pays both, and the newer one counts", after.Account),
		}))
	}
	return err
}
