package sandbox_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// life is a shop with one customer and random operations.
type life struct {
	*shop
	folder   string
	customer string
}

// may accepts a refusal of an operation, but no internal error.
func (l *life) may(err error) {
	var refused *stripe.Error
	if errors.As(err, &refused) {
		require.Less(l.t, refused.HTTPStatusCode, 500, "%v", err)
	}
}

func (l *life) subscriptions() []*stripe.Subscription {
	params := &stripe.SubscriptionListParams{Customer: &l.customer, Status: stripe.String("all")}
	params.AddExpand("data.latest_invoice.confirmation_secret")
	var all []*stripe.Subscription
	for s, err := range l.api.V1Subscriptions.List(l.t.Context(), params) {
		require.NoError(l.t, err)
		all = append(all, s)
	}
	return all
}

// one returns one of the subscriptions, or nil if there is none.
func (l *life) one(t *rapid.T) *stripe.Subscription {
	all := l.subscriptions()
	if len(all) == 0 {
		return nil
	}
	return rapid.SampledFrom(all).Draw(t, "subscription")
}

func prices() *rapid.Generator[string] {
	return rapid.Map(rapid.SampledFrom([]string{"indie", "pro", "premium"}), sandbox.PriceOf)
}

func cards() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		"pm_card_visa", "pm_card_visa", "pm_card_chargeDeclined", "pm_card_chargeCustomerFail",
		"pm_card_authenticationRequiredOnSetup", "pm_card_authenticationRequired", "pm_card_createDispute",
	})
}

func (l *life) actions() map[string]func(*rapid.T) {
	ctx := l.t.Context()
	on := func(do func(*rapid.T, *stripe.Subscription)) func(*rapid.T) {
		return func(t *rapid.T) {
			if s := l.one(t); s != nil {
				do(t, s)
			}
		}
	}
	return map[string]func(*rapid.T){
		"subscribe": func(t *rapid.T) { l.shop.subscribe(l.customer, prices().Draw(t, "price")) },
		"pay": on(func(t *rapid.T, s *stripe.Subscription) {
			if c := s.LatestInvoice.ConfirmationSecret; c != nil {
				l.may(l.Confirm(c.ClientSecret, cards().Draw(t, "card")))
				l.may(l.Authenticate(c.ClientSecret, rapid.Bool().Draw(t, "approved")))
			}
		}),
		"register": func(t *rapid.T) {
			made := l.setup(l.customer)
			l.may(l.Confirm(made.ClientSecret, cards().Draw(t, "card")))
			l.may(l.Authenticate(made.ClientSecret, rapid.Bool().Draw(t, "approved")))
		},
		"change": on(func(t *rapid.T, s *stripe.Subscription) {
			_, err := l.change(s, prices().Draw(t, "price"))
			l.may(err)
		}),
		"schedule": on(func(t *rapid.T, s *stripe.Subscription) {
			_, err := l.api.V1SubscriptionSchedules.Create(ctx,
				&stripe.SubscriptionScheduleCreateParams{FromSubscription: &s.ID})
			l.may(err)
		}),
		"cancel": on(func(t *rapid.T, s *stripe.Subscription) {
			yes := rapid.Bool().Draw(t, "yes")
			_, err := l.api.V1Subscriptions.Update(ctx, s.ID, &stripe.SubscriptionUpdateParams{CancelAtPeriodEnd: &yes})
			l.may(err)
		}),
		"end": on(func(_ *rapid.T, s *stripe.Subscription) {
			_, err := l.api.V1Subscriptions.Cancel(ctx, s.ID, nil)
			l.may(err)
		}),
		"bill": on(func(t *rapid.T, s *stripe.Subscription) {
			amount := rapid.Int64Range(1, 2000).Draw(t, "amount")
			_, err := l.api.V1InvoiceItems.Create(ctx, &stripe.InvoiceItemCreateParams{
				Customer: &l.customer, Subscription: &s.ID, Amount: &amount, Currency: stripe.String("usd"),
			})
			l.may(err)
		}),
		"refund": on(func(t *rapid.T, s *stripe.Subscription) { l.may(l.Refund(s.LatestInvoice.ID, 0)) }),
		"dispute": on(func(t *rapid.T, s *stripe.Subscription) {
			_, err := l.Dispute(s.LatestInvoice.ID)
			l.may(err)
		}),
		"fail": func(*rapid.T) { require.NoError(l.t, l.FailNextPayment(l.customer)) },
		"wait": func(t *rapid.T) {
			require.NoError(l.t, l.Advance(time.Duration(rapid.IntRange(1, 40*24).Draw(t, "hours"))*time.Hour))
		},
		"restart": func(*rapid.T) { l.restart() },
		"":        l.check,
	}
}

// restart closes the sandbox and opens it again.
func (l *life) restart() {
	require.NoError(l.t, l.Sandbox.Close())
	again, err := sandbox.Open(configIn(l.folder))
	require.NoError(l.t, err)
	l.Sandbox, l.api = again, client(l.t, again.URL())
}

// check checks the invariants.
func (l *life) check(t *rapid.T) {
	now := l.Now().Unix()
	for _, s := range l.subscriptions() {
		item, first := itemOf(s), s.LatestInvoice
		switch s.Status {
		case stripe.SubscriptionStatusActive, stripe.SubscriptionStatusPastDue:
			require.Greater(t, item.CurrentPeriodEnd, now-2, "a period that is over is renewed")
			require.Equal(t, s.Status == stripe.SubscriptionStatusPastDue, first.Status == stripe.InvoiceStatusOpen &&
				first.Attempted,
				"%s with an invoice %s", s.Status, first.Status)
		case stripe.SubscriptionStatusIncomplete:
			require.Equal(t, stripe.InvoiceStatusOpen, first.Status)
			require.Greater(t, s.Created+23*3600, now-2)
		default:
			require.NotZero(t, s.EndedAt)
			require.Nil(t, s.Schedule)
		}
	}
	l.checkMoney(t)
}

// checkMoney checks that charges and paid invoices agree.
func (l *life) checkMoney(t *rapid.T) {
	charged, paid := int64(0), int64(0)
	for c, err := range l.api.V1Charges.List(l.t.Context(), &stripe.ChargeListParams{Customer: &l.customer}) {
		require.NoError(t, err)
		if c.Paid {
			charged += c.Amount
		}
	}
	numbers := map[string]bool{}
	for _, i := range l.invoices(l.customer) {
		paid += i.AmountPaid
		total := int64(0)
		for _, line := range i.Lines.Data {
			total += line.Amount
		}
		require.Equal(t, total, i.Total)
		require.GreaterOrEqual(t, i.AmountDue, int64(0))
		require.Equal(t, i.AmountDue, i.AmountPaid+i.AmountRemaining)
		if i.Number != "" {
			require.False(t, numbers[i.Number], "the number of an invoice is unique")
			numbers[i.Number] = true
		}
	}
	require.Equal(t, charged, paid)
}

func TestWhateverHappensTheBooksAreRight(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := &life{shop: &shop{t: t}, folder: t.TempDir()}
		var err error
		l.Sandbox, err = sandbox.Open(configIn(l.folder))
		require.NoError(r, err)
		defer func() { require.NoError(r, l.Sandbox.Close()) }()
		l.api = client(t, l.URL())
		l.customer = l.shop.customer().ID
		r.Repeat(l.actions())
	})
}
