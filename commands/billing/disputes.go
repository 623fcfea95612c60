package billing

import (
	"context"
	"errors"
	"time"

	"github.com/recital-tts/recital/domain/subscription"
)

// LostDispute is a payment that went back, because its dispute was lost. The plan is not withdrawn for it.
type LostDispute struct {
	Account, Invoice string
	Amount           int64
	Currency         string
	At               time.Time
}

// lost is how a dispute ends that takes the money back.
const lost = "lost"

// alertLost raises the alerts of the disputes that a look finds lost. They come before the look is recorded, so that no
// crash can swallow them.
func (b *Billing) alertLost(ctx context.Context, seen subscription.Observe, s subscription.State) error {
	events, err := seen.Decide(s)
	for _, event := range events {
		if e, is := event.(subscription.InvoiceDisputed); is && e.Dispute == lost {
			err = errors.Join(err, b.AlertLost(ctx, LostDispute{Account: e.Account, Invoice: e.Invoice, Amount: e.Amount,
				Currency: e.Currency, At: e.At}))
		}
	}
	return err
}
