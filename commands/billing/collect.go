package billing

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// Collect makes the card that paid for a subscription the customer's default, and charges open invoices for characters
// past a plan to it. It records the items of void invoices as lost and, if no subscription continues, items that are
// too small for an invoice. The name is the subscription's stream, and the cause the event of the payment or the end.
func (b *Billing) Collect(ctx context.Context, name string, cause uuid.UUID) (eventlog.Position, error) {
	account := accountOfStream(name)
	if err := b.collect(ctx, account, cause); err != nil {
		return eventlog.Position{}, err
	}
	record := subscription.RecordCollected{Account: account, Event: cause.String(), At: b.now()}
	_, position, err := journal.Execute(ctx, b.Journal, stream(account),
		journal.Prepare(func(s subscription.State) (command, error) {
			look, err := b.look(ctx, account, s)
			return together(look, record), err
		}), journal.CausedBy(cause).Metadata(uuid.New(), record.At))
	return position, err
}

// collect waits for the account's requests, because another card may be about to replace this one.
func (b *Billing) collect(ctx context.Context, account string, cause uuid.UUID) error {
	release, err := b.requests.lock(ctx, account)
	if err != nil {
		return err
	}
	defer release()
	state, _, err := b.State(ctx, account)
	if err != nil || state.Customer == "" {
		return err
	}
	if err := b.loseVoid(ctx, state, journal.CausedBy(cause)); err != nil {
		return err
	}
	if _, found := state.Current(); !found {
		return b.loseRest(ctx, state, journal.CausedBy(cause))
	}
	attempt := payments.Attempt{ID: journal.DeriveID(cause.String(), "collect").String(), First: b.now()}
	if err := b.Gateway.Collect(ctx, attempt, state.Customer); !errors.Is(err, payments.ErrNotFound) {
		return refusal(err)
	}
	return nil
}

// loseRest records amounts that are too small for an invoice as lost, because no later invoice will include them. The
// loss is recorded before the item is deleted at the provider, so that a crash cannot lose the record.
func (b *Billing) loseRest(ctx context.Context, s subscription.State, origin journal.Origin) error {
	waiting, err := b.Gateway.WaitingItems(ctx, s.Customer)
	if err != nil {
		return unlessNotFound(err)
	}
	for _, item := range waiting {
		if err := b.lose(ctx, s, item, subscription.BelowMinimum, origin); err != nil {
			return err
		}
		if err := b.Gateway.DropItem(ctx, item.ID); err != nil {
			return refusal(err)
		}
	}
	return nil
}

// loseVoid records the items of void invoices as lost.
func (b *Billing) loseVoid(ctx context.Context, s subscription.State, origin journal.Origin) error {
	void, err := b.Gateway.VoidItems(ctx, s.Customer)
	if err != nil {
		return unlessNotFound(err)
	}
	for _, item := range void {
		if err := b.lose(ctx, s, item, subscription.Voided, origin); err != nil {
			return err
		}
	}
	return nil
}

func (b *Billing) lose(
	ctx context.Context, s subscription.State, item payments.AddedItem, why subscription.LossReason, origin journal.Origin,
) error {
	loss := subscription.RecordLoss{
		Account: s.Account, Object: item.Usage, Reason: why, Characters: item.Characters, Amount: item.Amount,
		Currency: item.Currency, At: b.now(),
	}
	_, _, err := journal.Execute(ctx, b.Journal, stream(s.Account), command(loss), origin.Metadata(uuid.New(), loss.At))
	return err
}

// alertUnpaid raises the alert of an unpaid invoice, if it is for characters past a plan. No plan is withdrawn for it.
func (b *Billing) alertUnpaid(ctx context.Context, seen subscription.Observe, e subscription.PaymentFailed) error {
	i, found := domain.First(seen.Invoices, func(i subscription.Billed) bool { return i.ID == e.Invoice })
	if !found || i.Subscription != "" {
		return nil
	}
	return b.Alert(ctx, Occasion{
		Source: alert.PaymentsSource, Subject: i.ID, Reason: alert.Uncollected, At: seen.At,
		Detail: fmt.Sprintf("account %s was to pay %d (%s) for characters past its plan", e.Account, i.AmountDue,
			i.Currency),
	})
}
