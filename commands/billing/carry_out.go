package billing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// attempt returns the id by which the provider recognises a request.
func attempt(r subscription.Requested) payments.Attempt {
	return payments.Attempt{ID: r.Request, First: r.At}
}

// attemptFor returns the id by which the provider recognises the part of a request for one of several objects.
func attemptFor(r subscription.Requested, object string) payments.Attempt {
	return payments.Attempt{ID: journal.DeriveID(r.Request, object).String(), First: r.At}
}

// carriedOut is the provider's result of a request.
type carriedOut struct {
	subscription.Agree
	secret string // with which a client pays for a new subscription; it is in no event
}

// carryOut sends a request to the provider. Repeating it has no further effect there.
func (b *Billing) carryOut(
	ctx context.Context, s subscription.State, r subscription.Requested, origin journal.Origin,
) (carriedOut, error) {
	agree := carriedOut{Agree: subscription.Agree{Request: r.Request, Object: r.Subscription}}
	var changed payments.Subscription
	var err error
	switch r.Kind {
	case subscription.Subscribe:
		if agree.Object, err = b.subscribe(ctx, s, r, origin); err == nil {
			agree.First, agree.secret, err = b.firstPayment(ctx, agree.Object)
		}
	case subscription.SetupCard:
		agree.Object, err = b.setUp(ctx, s, r, origin)
	case subscription.ReplaceCard:
		agree.Object = r.PaymentMethod
		_, err = b.Gateway.ReplaceCard(ctx, attempt(r), s.Customer, r.PaymentMethod)
	case subscription.ChangePlan:
		agree.EffectiveAt, err = b.changePlan(ctx, r)
	case subscription.DropScheduledChange:
		_, err = b.Gateway.DropScheduledChange(ctx, attempt(r), r.Subscription)
	case subscription.Cancel:
		changed, err = b.Gateway.SetCancelAtPeriodEnd(ctx, attempt(r), r.Subscription, true)
		agree.EffectiveAt = changed.PeriodEnd.UTC()
	case subscription.Uncancel:
		_, err = b.Gateway.SetCancelAtPeriodEnd(ctx, attempt(r), r.Subscription, false)
	case subscription.End, subscription.EndDisputed:
		err = b.endAll(ctx, r, s.Unfinished())
	}
	agree.At = b.now()
	return agree, err
}

// subscribe returns the subscription at a price that is to be paid. It first ends those that must end before.
func (b *Billing) subscribe(
	ctx context.Context, s subscription.State, r subscription.Requested, origin journal.Origin,
) (string, error) {
	if err := b.endAll(ctx, r, s.Leftovers(r.Price)); err != nil {
		return "", err
	}
	if waiting, found := s.Waiting(r.Price); found {
		return waiting.Subscription, nil
	}
	customer, err := b.customer(ctx, s, r, origin)
	if err != nil {
		return "", err
	}
	coupon, err := b.coupon(ctx, r.Coupon)
	if err != nil {
		return "", err
	}
	made, err := b.Gateway.Subscribe(ctx, attempt(r), payments.NewSubscription{Customer: customer, Price: r.Price,
		Coupon: coupon})
	return made.ID, err
}

// firstPayment returns the recorded part of a new subscription's first invoice, and its client secret, which is not
// recorded.
func (b *Billing) firstPayment(ctx context.Context, id string) (*subscription.First, string, error) {
	pay, err := b.Gateway.FirstPayment(ctx, id)
	if err != nil {
		return nil, "", err
	}
	first := &subscription.First{Invoice: pay.Invoice, Amount: pay.Amount, Currency: pay.Currency}
	if pay.Discount != nil {
		first.Discount, first.Reduces = pay.Discount.Name, pay.Discount.Description
	}
	return first, pay.ClientSecret, nil
}

// coupon returns a coupon, or "" if it is not valid any more, because people can subscribe without one.
func (b *Billing) coupon(ctx context.Context, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	_, err := b.Gateway.Coupon(ctx, id)
	if errors.Is(err, payments.ErrNotFound) {
		b.Logger.WarnContext(ctx, "the coupon for new accounts is not valid at the payment provider", "coupon", id)
		return "", nil
	}
	return id, err
}

func (b *Billing) setUp(
	ctx context.Context, s subscription.State, r subscription.Requested, origin journal.Origin,
) (string, error) {
	customer, err := b.customer(ctx, s, r, origin)
	if err != nil {
		return "", err
	}
	return b.Gateway.CreateSetup(ctx, attempt(r), customer)
}

func (b *Billing) changePlan(ctx context.Context, r subscription.Requested) (effective time.Time, err error) {
	if !r.Downgrade {
		return b.now(), b.upgrade(ctx, r)
	}
	changed, err := b.Gateway.ScheduleChange(ctx, attempt(r), r.Subscription, r.Price)
	if err != nil || changed.Scheduled == nil {
		return changed.PeriodEnd.UTC(), err
	}
	return changed.Scheduled.EffectiveAt.UTC(), nil
}

func (b *Billing) upgrade(ctx context.Context, r subscription.Requested) error {
	changed, err := b.Gateway.ChangePrice(ctx, attempt(r),
		payments.PriceChange{Subscription: r.Subscription, Price: r.Price, Replaces: r.Replaces})
	if err == nil && changed.Pending != nil && changed.Pending.Price == r.Price {
		return &unconfirmedError{invoice: changed.Pending.Invoice}
	}
	return err
}

func (b *Billing) endAll(ctx context.Context, r subscription.Requested, ids []string) error {
	for _, id := range ids {
		if err := b.Gateway.End(ctx, attemptFor(r, "end "+id), id); err != nil && !errors.Is(err, payments.ErrNotFound) {
			return err
		}
	}
	return nil
}

// customer returns the customer of an account. It creates one if there is none.
func (b *Billing) customer(
	ctx context.Context, s subscription.State, r subscription.Requested, origin journal.Origin,
) (string, error) {
	if s.Customer != "" {
		return s.Customer, nil
	}
	customer, err := b.Gateway.CreateCustomer(ctx, attemptFor(r, "customer"), r.Account)
	if err != nil {
		return "", err
	}
	at := b.now()
	record := subscription.RecordCustomer{Account: r.Account, Customer: customer, At: at}
	_, _, err = journal.Execute(ctx, b.Journal, stream(r.Account), record, origin.Metadata(uuid.New(), at))
	return customer, err
}
