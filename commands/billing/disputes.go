package billing

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/money"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// alertLost raises the alert of a lost dispute.
func (b *Billing) alertLost(ctx context.Context, e subscription.InvoiceDisputed) error {
	rest := "its plan stays"
	if b.DisputeEndsPlan {
		rest = "its plan ends"
	}
	return b.Alert(ctx, Occasion{
		Source: alert.PaymentsSource, Subject: e.Invoice, Reason: alert.DisputeLost, At: e.At,
		Detail: fmt.Sprintf("%s of account %s went back, and %s", money.Format(e.Amount, e.Currency), e.Account, rest),
	})
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
