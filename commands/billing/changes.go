package billing

import (
	"context"
	"errors"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// ErrUnderway refuses a request while another request of the account, or one with the same Idempotency-Key, is under
// way. The client may retry after a second.
var ErrUnderway = subscription.ErrUnderway

// NewSubscription is the result of Subscribe.
type NewSubscription struct {
	Subscription string
	ClientSecret string // to pay the first invoice; "" if it is paid
	Amount       int64  // of the first invoice, in minor units
	Currency     string
	Discount     *payments.Discount
	Position     eventlog.Position
}

// PlanChange is the result of ChangePlan.
type PlanChange struct {
	Downgrade   bool      // the change is scheduled
	EffectiveAt time.Time // start of the new plan
	Position    eventlog.Position
}

// Cancellation is the result of Cancel.
type Cancellation struct {
	Subscription string    // the ending subscription
	At           time.Time // its end
	Position     eventlog.Position
}

// Setup is the result of CreateSetup.
type Setup struct {
	ClientSecret string // to register a card
	Position     eventlog.Position
}

// NewCard is the result of ReplaceCard.
type NewCard struct {
	Brand, Last4 string
	Position     eventlog.Position
}

// Subscribe subscribes an account at a price. While the first invoice of such a subscription is unpaid, it returns that
// subscription; an unpaid one at another price ends. Errors: domain.NotFound and domain.Invalid for a price that is
// unknown or not on sale, domain.Rejected if there is a subscription, ErrUnderway, domain.ErrKeyReused.
func (b *Billing) Subscribe(
	ctx context.Context, account, price string, r domain.Repetition, origin journal.Origin,
) (NewSubscription, error) {
	ctx = waiting(ctx, account)
	done, err := b.request(ctx, subscription.Request{Account: account, Kind: subscription.Subscribe, Price: price,
		Coupon: b.Coupon}, r, origin)
	if err != nil {
		return NewSubscription{}, err
	}
	first, secret := done.First, done.secret
	if first == nil { // recorded by a release without this field
		first, secret, err = b.firstPayment(ctx, done.Object)
	} else if secret == "" {
		secret, err = b.Gateway.ClientSecret(ctx, first.Invoice)
	}
	if err != nil {
		return NewSubscription{}, refusal(err)
	}
	made := NewSubscription{
		Subscription: done.Object, ClientSecret: secret, Amount: first.Amount, Currency: first.Currency,
		Position: done.position,
	}
	if first.Discount != "" || first.Reduces != "" {
		made.Discount = &payments.Discount{Name: first.Discount, Description: first.Reduces}
	}
	return made, nil
}

// ChangePlan changes the price of an account's subscription. A higher price applies immediately, and the difference is
// charged; a lower one applies at the end of the period. Errors: as Subscribe, domain.Rejected for the same price, and
// DeclinedError, which has the client secret if the card's owner has to confirm the payment. Until then the change is
// pending.
func (b *Billing) ChangePlan(
	ctx context.Context, account, price string, r domain.Repetition, origin journal.Origin,
) (PlanChange, error) {
	done, err := b.request(ctx, subscription.Request{Account: account, Kind: subscription.ChangePlan, Price: price}, r,
		origin)
	var declined *DeclinedError
	if errors.As(err, &declined) && done.Invoice != "" {
		secret, err := b.Gateway.ClientSecret(waiting(ctx, account), done.Invoice)
		if err != nil {
			return PlanChange{}, refusal(err)
		}
		declined.ClientSecret = secret
	}
	return PlanChange{Downgrade: done.Downgrade, EffectiveAt: done.EffectiveAt, Position: done.position}, err
}

// DropScheduledChange drops a scheduled change. Errors: domain.Rejected if there is none, ErrUnderway,
// domain.ErrKeyReused.
func (b *Billing) DropScheduledChange(
	ctx context.Context, account string, r domain.Repetition, origin journal.Origin,
) (eventlog.Position, error) {
	done, err := b.request(ctx, subscription.Request{Account: account, Kind: subscription.DropScheduledChange}, r, origin)
	return done.position, err
}

// Cancel ends an account's subscription at the end of its period. Errors: domain.Rejected if there is none, or if it is
// cancelled; ErrUnderway, domain.ErrKeyReused.
func (b *Billing) Cancel(
	ctx context.Context, account string, r domain.Repetition, origin journal.Origin,
) (Cancellation, error) {
	done, err := b.request(ctx, subscription.Request{Account: account, Kind: subscription.Cancel}, r, origin)
	return Cancellation{Subscription: done.Object, At: done.EffectiveAt, Position: done.position}, err
}

// Uncancel withdraws a cancellation. Errors: domain.Rejected if there is none, ErrUnderway, domain.ErrKeyReused.
func (b *Billing) Uncancel(
	ctx context.Context, account string, r domain.Repetition, origin journal.Origin,
) (eventlog.Position, error) {
	done, err := b.request(ctx, subscription.Request{Account: account, Kind: subscription.Uncancel}, r, origin)
	return done.position, err
}

// CreateSetup begins the registration of a card. Errors: ErrUnderway, domain.ErrKeyReused.
func (b *Billing) CreateSetup(
	ctx context.Context, account string, r domain.Repetition, origin journal.Origin,
) (Setup, error) {
	done, err := b.request(ctx, subscription.Request{Account: account, Kind: subscription.SetupCard}, r, origin)
	if err != nil {
		return Setup{}, err
	}
	secret, err := b.Gateway.SetupSecret(waiting(ctx, account), done.Object)
	return Setup{ClientSecret: secret, Position: done.position}, refusal(err)
}

// ReplaceCard makes a payment method that was registered for the account the one that pays. Errors: domain.NotFound for
// another payment method; domain.Rejected for a repetition after yet another card; ErrUnderway, domain.ErrKeyReused.
func (b *Billing) ReplaceCard(
	ctx context.Context, account, paymentMethod string, r domain.Repetition, origin journal.Origin,
) (NewCard, error) {
	done, err := b.request(ctx, subscription.Request{Account: account, Kind: subscription.ReplaceCard,
		PaymentMethod: paymentMethod}, r, origin)
	if err != nil {
		return NewCard{}, err
	}
	known := done.state.Card
	if known == nil || known.PaymentMethod != paymentMethod {
		return NewCard{}, domain.Refuse(domain.Rejected, "The card was replaced in the meantime")
	}
	brand, err := b.Keys.Open(ctx, account, known.Brand, subscription.SealedForCard)
	if err != nil {
		return NewCard{}, err
	}
	last4, err := b.Keys.Open(ctx, account, known.Last4, subscription.SealedForCard)
	return NewCard{Brand: string(brand), Last4: string(last4), Position: done.position}, err
}
