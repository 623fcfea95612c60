package billing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// LostDispute is a payment that was returned because its dispute was lost. EndsPlan tells whether the plan ends, too.
type LostDispute struct {
	Account, Invoice string
	Amount           int64
	Currency         string
	EndsPlan         bool
	At               time.Time
}

// alertLost raises the alerts of the disputes that a look finds lost. It is called before the look is recorded, so that
// a crash cannot lose them.
func (b *Billing) alertLost(ctx context.Context, seen subscription.Observe, s subscription.State) error {
	events, err := seen.Decide(s)
	for _, event := range events {
		if e, is := event.(subscription.InvoiceDisputed); is && e.Dispute == subscription.DisputeLost {
			err = errors.Join(err, b.AlertLost(ctx, LostDispute{Account: e.Account, Invoice: e.Invoice, Amount: e.Amount,
				Currency: e.Currency, EndsPlan: b.DisputeEndsPlan, At: e.At}))
		}
	}
	return err
}

// EndDisputed ends the subscriptions of an account after a lost dispute. The name is the subscription's stream, and the
// cause is the event that recorded the loss. Its id is also the request's, so that the request is continued after a
// crash and not repeated after its outcome.
func (b *Billing) EndDisputed(ctx context.Context, name string, cause uuid.UUID) (eventlog.Position, error) {
	done, err := b.request(ctx, subscription.Request{
		Account: accountOfStream(name), Request: cause.String(), Kind: subscription.EndDisputed,
	}, domain.Repetition{}, journal.CausedBy(cause))
	switch {
	case errors.Is(err, ErrUnderway):
		return eventlog.Position{}, &todo.NotYetError{After: Patience}
	case refused(err):
		return done.position, nil
	}
	return done.position, err
}
