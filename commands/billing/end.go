package billing

import (
	"context"
	"errors"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// afterOutage is the pause of a closing while the provider does not respond.
const afterOutage = 10 * time.Second

// EndFor ends a closed account at the provider: its usage is invoiced and paid, or recorded as lost, the subscription
// ends, and the customer is deleted. The outcome of each step is in the log, so that EndFor can be repeated. While
// replies are being settled or the provider does not respond, the error is a *todo.NotYetError.
func (b *Billing) EndFor(ctx context.Context, account string) error {
	err := b.endFor(ctx, account)
	if errors.Is(err, payments.ErrUnavailable) && ctx.Err() == nil {
		b.Logger.WarnContext(ctx, "the closing of an account waits for the payment provider", "account", account,
			"error", err)
		return &todo.NotYetError{After: afterOutage}
	}
	return err
}

func (b *Billing) endFor(ctx context.Context, account string) error {
	unbilled, err := b.Periods.EndFor(ctx, account)
	if err != nil {
		return err
	}
	origin := journal.System()
	state, _, err := b.observe(ctx, account, origin)
	if err != nil || state.Account == "" {
		return err
	}
	if state.Open != nil {
		if _, err := b.complete(ctx, *state.Open, origin); err != nil && !refused(err) {
			return err
		}
	}
	for _, u := range unbilled {
		if _, err := b.BillItem(ctx, u); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context, string) error{b.settle, b.endSubscriptions, b.deleteCustomer} {
		if err := step(ctx, account); err != nil {
			return err
		}
	}
	return nil
}

// settle tries once more to collect an account's outstanding amounts, and records the rest as lost.
func (b *Billing) settle(ctx context.Context, account string) error {
	state, _, err := b.State(ctx, account)
	if err != nil || state.Customer == "" {
		return err
	}
	err = b.Gateway.SettleInvoices(ctx, closing(state.Customer, "settle", b.now()), state.Customer)
	if err != nil {
		return refusal(err)
	}
	if state, _, err = b.observe(ctx, account, journal.System()); err != nil {
		return err
	}
	for _, i := range state.Invoices {
		if i.Status != "uncollectible" {
			continue
		}
		lost := subscription.RecordLoss{
			Account: account, Object: i.ID, Reason: subscription.Uncollectible, Amount: i.AmountDue - i.AmountPaid,
			Currency: i.Currency, At: b.now(),
		}
		meta := journal.System().Metadata(journal.DeriveID(i.ID, "lost"), b.now())
		if _, _, err := journal.Execute(ctx, b.Journal, stream(account), command(lost), meta); err != nil {
			return err
		}
	}
	return nil
}

func (b *Billing) endSubscriptions(ctx context.Context, account string) error {
	state, _, err := b.State(ctx, account)
	if err != nil || state.Ending && len(state.Unfinished()) == 0 {
		return err
	}
	_, err = b.request(ctx, subscription.Request{Account: account, Kind: subscription.End}, domain.Repetition{},
		journal.System())
	return err
}

// deleteCustomer deletes the customer of an account. Items that no invoice collects are recorded as lost.
func (b *Billing) deleteCustomer(ctx context.Context, account string) error {
	state, _, err := b.State(ctx, account)
	if err != nil || state.Customer == "" {
		return err
	}
	for _, lose := range []func(context.Context, subscription.State, journal.Origin) error{b.loseVoid, b.loseRest} {
		if err := lose(ctx, state, journal.System()); err != nil {
			return err
		}
	}
	if err := b.loseBalance(ctx, state); err != nil {
		return err
	}
	err = b.Gateway.DeleteCustomer(ctx, closing(state.Customer, "delete", b.now()), state.Customer)
	if err != nil {
		return refusal(err)
	}
	_, _, err = b.observe(ctx, account, journal.System())
	return err
}

// loseBalance records the amount that a customer owes without an invoice as lost. The customer is about to be deleted.
func (b *Billing) loseBalance(ctx context.Context, s subscription.State) error {
	owed, currency, err := b.Gateway.Owed(ctx, s.Customer)
	if err != nil || owed <= 0 {
		return unlessNotFound(err)
	}
	rest := payments.AddedItem{Usage: s.Customer, Amount: owed, Currency: currency}
	return b.lose(ctx, s, rest, subscription.BelowMinimum, journal.System())
}

// closing returns the id by which the provider recognises a step of the end of a customer.
func closing(customer, step string, at time.Time) payments.Attempt {
	return payments.Attempt{ID: journal.DeriveID(customer, step).String(), First: at}
}
