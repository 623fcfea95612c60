package billing

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// observe records the provider's current state of an account.
func (b *Billing) observe(
	ctx context.Context, account string, origin journal.Origin,
) (subscription.State, eventlog.Position, error) {
	return journal.Execute(ctx, b.Journal, stream(account), journal.Prepare(func(s subscription.State) (command, error) {
		look, err := b.look(ctx, account, s)
		return look, err
	}), origin.Metadata(uuid.New(), b.now()))
}

// refresh observes an account. If a confirmed upgrade replaces a scheduled change, it drops that change at the
// provider. After a failure the next look does so.
func (b *Billing) refresh(ctx context.Context, account string, origin journal.Origin) (eventlog.Position, error) {
	if payments.CallerOf(ctx).Account == "" {
		ctx = payments.WithCaller(ctx, payments.Caller{Account: account}) // sendAddress reuses the customer of the look
	}
	state, position, err := b.observe(ctx, account, origin)
	if err == nil && state.Customer != "" && !state.Ending {
		b.sendAddress(ctx, account, state.Customer)
	}
	if err != nil || len(state.Superseded()) == 0 {
		return position, err
	}
	for _, id := range state.Superseded() {
		known, _ := state.Find(id)
		a := payments.Attempt{ID: journal.DeriveID(id, "drop what comes after "+known.Price).String()}
		if _, err := b.Gateway.DropScheduledChange(ctx, a, id); err != nil {
			return position, refusal(err)
		}
	}
	_, position, err = b.observe(ctx, account, origin)
	return position, err
}

// look reads the provider's state of an account.
func (b *Billing) look(ctx context.Context, account string, s subscription.State) (subscription.Observe, error) {
	if payments.CallerOf(ctx).Account == "" {
		ctx = payments.WithCaller(ctx, payments.Caller{Account: account})
	}
	return b.lookBy(ctx, account, s, b.Gateway.Billing)
}

// glance is a look for a waiting person: it takes fewer requests, and reads invoices only on demand. Their refunds and
// disputes are those of the last look, because the provider sends notices of these.
func (b *Billing) glance(
	ctx context.Context, account string, s subscription.State, invoices bool,
) (subscription.Observe, error) {
	return b.lookBy(ctx, account, s, func(ctx context.Context, customer string) (payments.Billing, error) {
		has, err := b.Gateway.Excerpt(ctx, customer, invoices)
		for i := range has.Invoices {
			addReturned(&has.Invoices[i], s)
		}
		return has, err
	})
}

func addReturned(one *payments.Invoice, s subscription.State) {
	for _, known := range s.Invoices {
		if known.ID == one.ID {
			one.Refunded, one.Disputed = known.Refunded, known.Disputed
			one.Dispute, one.DisputedSum = known.Dispute, known.DisputedSum
		}
	}
}

// lookBy observes the state of an account's customer as returned by read, or an empty state without a customer.
func (b *Billing) lookBy(
	ctx context.Context, account string, s subscription.State,
	read func(ctx context.Context, customer string) (payments.Billing, error),
) (subscription.Observe, error) {
	seen := subscription.Observe{Grace: b.Grace, EndDisputed: b.DisputeEndsPlan, At: b.now()}
	if s.Customer == "" {
		return seen, nil
	}
	has, err := read(ctx, s.Customer)
	if err != nil {
		return seen, unread(err)
	}
	listed, err := b.listed(ctx, has)
	if err != nil {
		return seen, err
	}
	seen.Customer, seen.Deleted = s.Customer, has.Deleted
	for _, one := range has.Subscriptions {
		seen.Subscriptions = append(seen.Subscriptions, observed(one, listed))
	}
	sealer := sealer{ctx: ctx, keys: b.Keys, account: account}
	seen.Card = sealer.card(has.Card, s.Card)
	for _, one := range has.Invoices {
		seen.Invoices = append(seen.Invoices, sealer.invoice(one))
	}
	if sealer.err != nil {
		return seen, sealer.err
	}
	return seen, b.raiseAlerts(ctx, seen, s)
}

// raiseAlerts raises the alerts of a look. It is called before the look is recorded, so that a crash cannot lose them.
func (b *Billing) raiseAlerts(ctx context.Context, seen subscription.Observe, s subscription.State) error {
	events, err := seen.Decide(s)
	after := s
	for _, event := range events {
		after = subscription.Evolve(after, event)
		switch e := event.(type) {
		case subscription.PaymentFailed:
			err = errors.Join(err, b.alertUnpaid(ctx, seen, e))
		case subscription.InvoiceDisputed:
			if e.Dispute == subscription.DisputeLost {
				err = errors.Join(err, b.alertLost(ctx, e))
			}
		}
	}
	return errors.Join(err, b.alertSecond(ctx, seen.At, s, after))
}

// unread returns the error of a failed look. If the provider does not know an object that it created, it is the wrong
// provider, and its ErrNotFound must not reach the client.
func unread(err error) error {
	if errors.Is(err, payments.ErrUnavailable) {
		return refusal(err)
	}
	return fmt.Errorf("reading the payment provider's state: %w", err)
}

// listed returns the catalogue. If it lacks a price of a subscription that has not ended, the catalogue is read from
// the provider again.
func (b *Billing) listed(ctx context.Context, has payments.Billing) (catalogue.State, error) {
	listed, err := b.catalogue(ctx)
	if err != nil {
		return listed, err
	}
	for _, one := range has.Subscriptions {
		if _, found := listed.Find(one.Price); !found && one.EndedAt.IsZero() {
			listed, _, err = b.observeCatalogue(ctx, journal.System())
			return listed, err
		}
	}
	return listed, nil
}

func observed(one payments.Subscription, listed catalogue.State) subscription.Observed {
	seen := subscription.Observed{
		Terms: subscription.Terms{
			Subscription: one.ID, Price: one.Price, Plan: planOf(one.Price, listed), Status: one.Status,
			PeriodStart: one.PeriodStart.UTC(), PeriodEnd: one.PeriodEnd.UTC(), Anchor: one.Anchor.UTC(),
		},
		CancelAtPeriodEnd: one.CancelAtPeriodEnd, EndedAt: one.EndedAt.UTC(),
	}
	if later := one.Scheduled; later != nil {
		seen.Scheduled = &subscription.Change{Price: later.Price, Plan: planOf(later.Price, listed),
			EffectiveAt: later.EffectiveAt.UTC()}
	}
	if pending := one.Pending; pending != nil {
		seen.Pending = &subscription.Pending{Price: pending.Price, Plan: planOf(pending.Price, listed),
			Invoice: pending.Invoice, ExpiresAt: pending.ExpiresAt.UTC()}
	}
	return seen
}

// planOf returns the plan of a price. A price that was never in the catalogue has the plan "", which grants no plan.
func planOf(price string, listed catalogue.State) plan.Type {
	known, _ := listed.Find(price)
	return known.Plan
}

// sealer seals personal data with the key of an account, and keeps the first error. If the key is destroyed, no
// personal data is recorded.
type sealer struct {
	ctx     context.Context
	keys    keyring.Keyring
	account string
	err     error
}

func (s *sealer) seal(text, use string) []byte {
	if text == "" || s.err != nil {
		return nil
	}
	sealed, err := s.keys.Seal(s.ctx, s.account, []byte(text), use)
	if err != nil && !errors.Is(err, keyring.ErrErased) {
		s.err = fmt.Errorf("sealing data of the payment provider: %w", err)
	}
	return sealed
}

// card seals a card. An unchanged card is returned as it is, because each sealing results in other bytes.
func (s *sealer) card(now *payments.Card, known *subscription.Card) *subscription.Card {
	switch {
	case now == nil:
		return nil
	case known != nil && known.PaymentMethod == now.PaymentMethod && s.holds(known.Brand, now.Brand) &&
		s.holds(known.Last4, now.Last4):
		return known
	}
	return &subscription.Card{
		PaymentMethod: now.PaymentMethod, Brand: s.seal(now.Brand, subscription.SealedForCard),
		Last4: s.seal(now.Last4, subscription.SealedForCard),
	}
}

// holds reports whether a sealed value contains a text. If the key is destroyed, it reports true for any text.
func (s *sealer) holds(sealed []byte, text string) bool {
	opened, err := s.keys.Open(s.ctx, s.account, sealed, subscription.SealedForCard)
	if err != nil && !keyring.Gone(err) && s.err == nil {
		s.err = fmt.Errorf("opening a sealed card: %w", err)
	}
	return string(opened) == text || errors.Is(err, keyring.ErrErased)
}

func (s *sealer) invoice(one payments.Invoice) subscription.Billed {
	return subscription.Billed{
		ID: one.ID, Subscription: one.Subscription, Number: one.Number, Status: one.Status, AmountDue: one.AmountDue,
		AmountPaid: one.AmountPaid,
		Refunded:   one.Refunded, Disputed: one.Disputed, Dispute: one.Dispute, DisputedSum: one.DisputedSum,
		Attempts: one.Attempts, Currency: one.Currency,
		CreatedAt: one.CreatedAt.UTC(),
		Page:      s.seal(one.Page, subscription.SealedForInvoice), PDF: s.seal(one.PDF, subscription.SealedForInvoice),
	}
}
