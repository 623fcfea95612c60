package billing

import (
	"context"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// Preview is the effect that ChangePlan would have.
type Preview struct {
	PlanChange
	Charge payments.Preview // of the immediate charge; empty for a downgrade
}

// PreviewChange returns the effect that ChangePlan would have now, without a change or a record. Errors: those of
// ChangePlan, except for payments and for an Idempotency-Key.
func (b *Billing) PreviewChange(ctx context.Context, account, price string) (Preview, error) {
	ctx = waiting(ctx, account)
	listed, err := b.catalogue(ctx)
	if err != nil {
		return Preview{}, err
	}
	s, err := b.asIfRequested(ctx, subscription.Request{
		Account: account, Request: uuid.NewString(), Kind: subscription.ChangePlan, Price: price, Catalogue: listed,
		At: b.now(),
	})
	if err != nil {
		return Preview{}, err
	}
	current, _ := s.Current()
	if s.Open.Downgrade {
		next, _ := listed.Find(price)
		return Preview{PlanChange{Downgrade: true, EffectiveAt: current.PeriodEnd},
			payments.Preview{Currency: next.Currency}}, nil
	}
	charge, err := b.Gateway.PreviewPrice(ctx, current.Subscription, price)
	return Preview{PlanChange{EffectiveAt: b.now()}, charge}, refusal(err)
}

// asIfRequested returns the state after a request, in which the request is open. It records nothing.
func (b *Billing) asIfRequested(ctx context.Context, wanted subscription.Request) (subscription.State, error) {
	s, _, err := b.State(ctx, wanted.Account)
	if err != nil {
		return subscription.State{}, err
	}
	look, err := b.glance(ctx, wanted.Account, s, false)
	if err != nil {
		return subscription.State{}, err
	}
	events, err := together(look, wanted).Decide(s)
	for _, event := range events {
		s = subscription.Evolve(s, event)
	}
	return s, err
}
