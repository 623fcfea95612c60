package stripe_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// provider is the payment provider behind a gateway. Tests can advance its clock and act as its customers.
type provider interface {
	Now() time.Time
	Advance(d time.Duration) error
	// Confirm pays or registers a card, like its owner in a browser.
	Confirm(clientSecret, card string) error
	// Authenticate answers the bank's question to the card's owner.
	Authenticate(clientSecret string, approved bool) error
	// FailNextPayment makes the customer's next payment fail.
	FailNextPayment(customer string) error
	// Refund refunds an amount of an invoice; 0 means all of it.
	Refund(invoice string, amount int64) error
	Dispute(invoice string) (id string, err error)
	CloseDispute(id string, won bool) error
	// EmailOf returns the e-mail address of a customer.
	EmailOf(customer string) (string, error)
}

// world is a gateway with the provider behind it, and its prices, coupon and test cards.
type world struct {
	payments.Gateway
	provider
	Cheap, Dear, Dearest payments.Price
	Coupon               string // 20 % off for 3 months
	Visa                 string // a card that pays
	Declined             string // a card that can be registered but not charged
	Asking               string // a card whose bank asks its owner at each payment
}

// contract checks that a gateway behaves as package payments documents.
func contract(t *testing.T, open func(t *testing.T) world) {
	for name, check := range map[string]func(*shop){
		"prices":                           checkPrices,
		"coupons":                          checkCoupons,
		"an excerpt":                       checkExcerpt,
		"customers":                        checkCustomers,
		"an e-mail address":                checkAddress,
		"subscribing":                      checkSubscribing,
		"a discount":                       checkDiscount,
		"an upgrade":                       checkUpgrade,
		"an upgrade that is declined":      checkDeclinedUpgrade,
		"an upgrade to be confirmed":       checkPendingUpgrade,
		"a pending upgrade that ends":      checkPendingUpgradeEnds,
		"a pending upgrade at a renewal":   checkPendingUpgradeAtRenewal,
		"a card beside a pending upgrade":  checkCardBesidePendingUpgrade,
		"a scheduled change":               checkScheduledChange,
		"a scheduled change is dropped":    checkDroppedChange,
		"a cancellation":                   checkCancellation,
		"an end":                           checkEnd,
		"cards":                            checkCards,
		"a card beside a scheduled change": checkCardBesideSchedule,
		"cards of others":                  checkCardsOfOthers,
		"invoice items":                    checkInvoiceItems,
		"small items":                      checkSmallItems,
		"void items":                       checkVoidItems,
		"a bill after the end":             checkBillAfterEnd,
		"the end of a customer":            checkEndOfCustomer,
		"money back":                       checkMoneyBack,
		"a payment that fails":             checkFailedPayment,
		"a card for what is owed":          checkCardForDebt,
		"a card for characters":            checkCardForItems,
		"events":                           checkEvents,
		"missing objects":                  checkNothing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(&shop{world: open(t), T: t})
		})
	}
}

// shop is a world in a test.
type shop struct {
	world
	*testing.T
}

// attempt returns an attempt that begins now.
func (s *shop) attempt() payments.Attempt {
	return payments.Attempt{ID: uuid.NewString(), First: s.Now()}
}

// twice repeats an attempt at once, after an hour, and after the provider has forgotten it. The results must be the
// same.
func twice[T any](s *shop, do func(a payments.Attempt) (T, error)) T {
	s.Helper()
	a := s.attempt()
	first, err := do(a)
	require.NoError(s, err)
	for _, later := range []time.Duration{0, time.Hour, 25 * time.Hour} {
		require.NoError(s, s.Advance(later))
		again, err := do(a)
		require.NoError(s, err, "after %s", later)
		assert.Equal(s, first, again, "after %s", later)
	}
	return first
}

func (s *shop) changePrice(subscription string, to payments.Price) (payments.Subscription, error) {
	return s.ChangePrice(s.Context(), s.attempt(), payments.PriceChange{Subscription: subscription, Price: to.ID})
}

// newItem returns an item of usage that was not billed before.
func newItem(customer, subscription string, amount int64) payments.InvoiceItem {
	return payments.InvoiceItem{
		Customer: customer, Subscription: subscription, Amount: amount, Currency: "usd", Description: "Characters",
		Usage: "usage-" + uuid.NewString(), Characters: 6000,
	}
}

func (s *shop) customer() string {
	s.Helper()
	customer, err := s.CreateCustomer(s.Context(), s.attempt(), "account-"+uuid.NewString())
	require.NoError(s, err)
	return customer
}

// subscribed returns a customer with a subscription that is paid with a card.
func (s *shop) subscribed(price payments.Price) (customer, subscription string) {
	s.Helper()
	customer = s.customer()
	made, err := s.Subscribe(s.Context(), s.attempt(), payments.NewSubscription{Customer: customer, Price: price.ID})
	require.NoError(s, err)
	s.payFirst(made.ID)
	return customer, made.ID
}

func (s *shop) payFirst(subscription string) {
	s.Helper()
	pay, err := s.FirstPayment(s.Context(), subscription)
	require.NoError(s, err)
	require.NotEmpty(s, pay.ClientSecret)
	require.NoError(s, s.Confirm(pay.ClientSecret, s.Visa))
}

func (s *shop) billing(customer string) payments.Billing {
	s.Helper()
	b, err := s.Billing(s.Context(), customer)
	require.NoError(s, err)
	return b
}

// only returns the only subscription of a customer.
func (s *shop) only(customer string) payments.Subscription {
	s.Helper()
	b := s.billing(customer)
	require.Len(s, b.Subscriptions, 1)
	return b.Subscriptions[0]
}

// charged returns the sum that a customer has paid.
func (s *shop) charged(customer string) (sum int64) {
	s.Helper()
	for _, i := range s.billing(customer).Invoices {
		sum += i.AmountPaid
	}
	return sum
}

func checkPrices(s *shop) {
	prices, err := s.Prices(s.Context())
	require.NoError(s, err)
	for _, want := range []payments.Price{s.Cheap, s.Dear} {
		i := slices.IndexFunc(prices, func(p payments.Price) bool { return p.ID == want.ID })
		require.GreaterOrEqual(s, i, 0, want.ID)
		assert.Equal(s, want, prices[i])
	}
}

func checkCoupons(s *shop) {
	coupon, err := s.Gateway.Coupon(s.Context(), s.world.Coupon)
	require.NoError(s, err)
	assert.NotEmpty(s, coupon.Name)
	assert.Equal(s, "20 % off for 3 months", coupon.Description)
	_, err = s.Gateway.Coupon(s.Context(), "NOTHING")
	assert.ErrorIs(s, err, payments.ErrNotFound)
}

func checkCustomers(s *shop) {
	customer := twice(s, func(a payments.Attempt) (string, error) {
		return s.CreateCustomer(s.Context(), a, "account-1")
	})
	assert.NotEqual(s, customer, s.customer(), "another attempt is another customer")
	account, err := s.AccountOf(s.Context(), customer)
	require.NoError(s, err)
	assert.Equal(s, "account-1", account)
	assert.Equal(s, payments.Billing{Customer: customer}, s.billing(customer), "nothing yet")
}

func checkAddress(s *shop) {
	ctx, customer := payments.WithCaller(s.Context(), payments.Caller{Account: "account-1"}), s.customer()
	requireTold := func(address string) {
		s.Helper()
		known, err := s.EmailOf(customer)
		require.NoError(s, err)
		require.Equal(s, address, known)
	}
	for _, address := range []string{"ada@example.com", "eve@example.com", "ada@example.com"} {
		require.NoError(s, s.SetAddress(ctx, s.attempt(), customer, address))
		requireTold(address)
		_, err := s.Billing(ctx, customer)
		require.NoError(s, err)
		require.NoError(s, s.SetAddress(ctx, s.attempt(), customer, address))
	}
	err := s.SetAddress(ctx, s.attempt(), customer, "no address")
	require.ErrorIs(s, err, payments.ErrRejected)
	require.NotContains(s, err.Error(), "no address")
	requireTold("ada@example.com")
}

func checkSubscribing(s *shop) {
	customer := s.customer()
	began := s.Now().Truncate(time.Second)
	want := payments.NewSubscription{Customer: customer, Price: s.Cheap.ID}
	a := s.attempt()
	made, err := s.Subscribe(s.Context(), a, want)
	require.NoError(s, err)
	assert.Equal(s, "incomplete", made.Status)
	assert.Equal(s, s.Cheap.ID, made.Price)
	assert.Equal(s, a.ID, made.Attempt)
	assert.False(s, made.CreatedAt.Before(began), "created at %s, before %s", made.CreatedAt, began)
	assert.True(s, made.EndedAt.IsZero())
	assert.Equal(s, made.PeriodStart, made.Anchor)
	assert.Equal(s, time.UTC, made.PeriodStart.Location())

	pay, err := s.FirstPayment(s.Context(), made.ID)
	require.NoError(s, err)
	assert.Equal(s, s.Cheap.Amount, pay.Amount)
	assert.Equal(s, s.Cheap.Currency, pay.Currency)
	assert.Nil(s, pay.Discount)
	again, err := s.FirstPayment(s.Context(), made.ID)
	require.NoError(s, err)
	assert.Equal(s, pay, again)

	require.NoError(s, s.Confirm(pay.ClientSecret, s.Visa))
	for _, later := range []time.Duration{0, time.Hour, 25 * time.Hour} {
		require.NoError(s, s.Advance(later))
		paid, err := s.Subscribe(s.Context(), a, want)
		require.NoError(s, err)
		assert.Equal(s, made.ID, paid.ID, "after %s", later)
		assert.Equal(s, "active", paid.Status, "the current status")
	}
	b := s.billing(customer)
	require.Len(s, b.Subscriptions, 1)
	require.Len(s, b.Invoices, 1)
	invoice := b.Invoices[0]
	assert.Equal(s, made.ID, invoice.Subscription)
	assert.Equal(s, "paid", invoice.Status)
	assert.Equal(s, []int64{s.Cheap.Amount, s.Cheap.Amount, 0}, []int64{
		invoice.AmountDue, invoice.AmountPaid, invoice.Refunded,
	})
	assert.Equal(s, s.Cheap.Currency, invoice.Currency)
	assert.NotEmpty(s, invoice.Number)
	assert.NotEmpty(s, invoice.Page)
	require.NotNil(s, b.Card)
	assert.Equal(s, []string{"visa", "4242"}, []string{b.Card.Brand, b.Card.Last4})

	paid, err := s.FirstPayment(s.Context(), made.ID)
	require.NoError(s, err)
	assert.Empty(s, paid.ClientSecret, "there is nothing left to pay")
}

func checkExcerpt(s *shop) {
	customer, _ := s.subscribed(s.Cheap)
	all := s.billing(customer)
	got, err := s.Excerpt(s.Context(), customer, true)
	require.NoError(s, err)
	assert.Equal(s, all, got)
	require.NoError(s, s.Refund(all.Invoices[0].ID, 100))
	got, err = s.Excerpt(s.Context(), customer, true)
	require.NoError(s, err)
	assert.Zero(s, got.Invoices[0].Refunded)
	all.Invoices = nil
	got, err = s.Excerpt(s.Context(), customer, false)
	require.NoError(s, err)
	assert.Equal(s, all, got)
	_, err = s.Excerpt(s.Context(), "cus_nothing", false)
	assert.ErrorIs(s, err, payments.ErrNotFound)
}

func checkDiscount(s *shop) {
	customer := s.customer()
	made, err := s.Subscribe(s.Context(), s.attempt(), payments.NewSubscription{
		Customer: customer, Price: s.Cheap.ID, Coupon: s.world.Coupon,
	})
	require.NoError(s, err)
	pay, err := s.FirstPayment(s.Context(), made.ID)
	require.NoError(s, err)
	assert.Equal(s, s.Cheap.Amount*4/5, pay.Amount)
	require.NotNil(s, pay.Discount)
	assert.Equal(s, "20 % off for 3 months", pay.Discount.Description)
}

func checkUpgrade(s *shop) {
	customer, subscription := s.subscribed(s.Cheap)
	before := s.only(customer)
	half := before.PeriodStart.Add(before.PeriodEnd.Sub(before.PeriodStart) / 2)
	require.NoError(s, s.Advance(half.Sub(s.Now())))
	preview, err := s.PreviewPrice(s.Context(), subscription, s.Dear.ID)
	require.NoError(s, err)
	assert.Equal(s, before, s.only(customer), "a preview changes nothing")
	assert.Equal(s, s.Cheap.Amount, s.charged(customer))
	changed := twice(s, func(a payments.Attempt) (payments.Subscription, error) {
		return s.ChangePrice(s.Context(), a, payments.PriceChange{Subscription: subscription, Price: s.Dear.ID})
	})
	assert.Equal(s, s.Dear.ID, changed.Price)
	assert.Equal(s, "active", changed.Status)
	assert.Equal(s, before.PeriodEnd, changed.PeriodEnd, "the period stays")
	difference := (s.Dear.Amount - s.Cheap.Amount) / 2
	assert.InDelta(s, s.Cheap.Amount+difference, s.charged(customer), 5, "the difference was charged, once")
	assert.InDelta(s, preview.AmountDue, s.charged(customer)-s.Cheap.Amount, 5, "as in the preview")
	assert.Equal(s, s.Dear.Currency, preview.Currency)
	require.Len(s, preview.Lines, 2)
	assert.Equal(s, preview.AmountDue, preview.Lines[0].Amount+preview.Lines[1].Amount)
	assert.Negative(s, min(preview.Lines[0].Amount, preview.Lines[1].Amount), "unused time is credited")
}

func checkDeclinedUpgrade(s *shop) {
	customer, subscription := s.subscribed(s.Dear)
	before, err := s.ScheduleChange(s.Context(), s.attempt(), subscription, s.Cheap.ID)
	require.NoError(s, err)
	require.NoError(s, s.FailNextPayment(customer))
	_, err = s.changePrice(subscription, s.Dearest)
	require.ErrorIs(s, err, payments.ErrDeclined)
	assert.Equal(s, before, s.only(customer), "nothing has changed, including the scheduled change")
	assert.Equal(s, s.Dear.Amount, s.charged(customer))
	changed, err := s.changePrice(subscription, s.Dearest)
	require.NoError(s, err, "another attempt may succeed")
	assert.Equal(s, s.Dearest.ID, changed.Price)
	assert.Nil(s, changed.Scheduled)
}

// asking returns a subscription that is paid with a card that needs confirmation for each payment.
func (s *shop) asking(price payments.Price) (customer, subscription string) {
	customer = s.customer()
	made, err := s.Subscribe(s.Context(), s.attempt(), payments.NewSubscription{Customer: customer, Price: price.ID})
	require.NoError(s, err)
	pay, err := s.FirstPayment(s.Context(), made.ID)
	require.NoError(s, err)
	require.NoError(s, s.Confirm(pay.ClientSecret, s.Asking))
	require.NoError(s, s.Authenticate(pay.ClientSecret, true))
	return customer, made.ID
}

// pendingAt requires that a subscription is unchanged except for a change to be confirmed, and returns its secret.
func (s *shop) pendingAt(before, now payments.Subscription, price string) (secret string) {
	require.NotNil(s, now.Pending)
	assert.Equal(s, price, now.Pending.Price)
	assert.WithinDuration(s, s.Now().Add(23*time.Hour), now.Pending.ExpiresAt, time.Minute)
	secret, err := s.ClientSecret(s.Context(), now.Pending.Invoice)
	require.NoError(s, err)
	require.NotEmpty(s, secret)
	now.Pending = nil
	assert.Equal(s, before, now, "nothing else has changed")
	return secret
}

func checkPendingUpgrade(s *shop) {
	customer, subscription := s.asking(s.Dear)
	before, err := s.ScheduleChange(s.Context(), s.attempt(), subscription, s.Cheap.ID)
	require.NoError(s, err)
	a, upgrade := s.attempt(), payments.PriceChange{Subscription: subscription, Price: s.Dearest.ID}
	pending, err := s.ChangePrice(s.Context(), a, upgrade)
	require.NoError(s, err)
	secret := s.pendingAt(before, pending, s.Dearest.ID)
	repeated, err := s.ChangePrice(s.Context(), a, upgrade)
	require.NoError(s, err)
	assert.Equal(s, pending, repeated)
	assert.Equal(s, pending, s.only(customer))
	assert.Equal(s, s.Dear.Amount, s.charged(customer))

	// its owner confirms it, and its secret is still known after that
	require.Error(s, s.Authenticate(secret, false))
	assert.Equal(s, pending, s.only(customer), "it can be confirmed after a refusal")
	require.NoError(s, s.Confirm(secret, s.Visa))
	made := s.only(customer)
	assert.Equal(s, s.Dearest.ID, made.Price)
	assert.Nil(s, made.Pending)
	assert.Greater(s, s.charged(customer), s.Dear.Amount)
	again, err := s.ClientSecret(s.Context(), pending.Pending.Invoice)
	require.NoError(s, err)
	assert.Equal(s, secret, again)
	repeated, err = s.ChangePrice(s.Context(), a, upgrade)
	require.NoError(s, err)
	assert.Equal(s, s.Dearest.ID, repeated.Price)
	assert.Nil(s, repeated.Scheduled)
}

func checkPendingUpgradeEnds(s *shop) {
	customer, subscription := s.asking(s.Cheap)
	before := s.only(customer)
	first, err := s.changePrice(subscription, s.Dear)
	require.NoError(s, err)
	old := s.pendingAt(before, first, s.Dear.ID)

	// another one takes its place
	second, err := s.ChangePrice(s.Context(), s.attempt(),
		payments.PriceChange{Subscription: subscription, Price: s.Dearest.ID, Replaces: first.Pending.Invoice})
	require.NoError(s, err)
	s.pendingAt(before, second, s.Dearest.ID)
	require.Error(s, s.Authenticate(old, true), "the first one cannot be confirmed any more")

	// it lapses
	require.NoError(s, s.Advance(23*time.Hour+time.Minute))
	assert.Equal(s, before, s.only(customer))
	assert.Equal(s, s.Cheap.Amount, s.charged(customer))

	// and a declined card leaves no pending upgrade
	require.NoError(s, s.FailNextPayment(customer))
	_, err = s.changePrice(subscription, s.Dear)
	require.ErrorIs(s, err, payments.ErrDeclined)
	assert.Equal(s, "generic_decline", payments.DeclineCode(err))
	assert.Equal(s, before, s.only(customer))
}

// A scheduled change takes effect although another one is pending.
func checkPendingUpgradeAtRenewal(s *shop) {
	customer, subscription := s.asking(s.Dear)
	scheduled, err := s.ScheduleChange(s.Context(), s.attempt(), subscription, s.Cheap.ID)
	require.NoError(s, err)
	require.NoError(s, s.Advance(scheduled.PeriodEnd.Add(-20*time.Hour).Sub(s.Now())))
	pending, err := s.changePrice(subscription, s.Dearest)
	require.NoError(s, err)
	require.NotNil(s, pending.Pending)
	require.NoError(s, s.Advance(21*time.Hour))
	assert.Equal(s, s.Cheap.ID, s.only(customer).Price)
	assert.Nil(s, s.only(customer).Pending)
}

// A new card pays debts, but not an upgrade that its owner has not confirmed.
func checkCardBesidePendingUpgrade(s *shop) {
	customer, subscription := s.asking(s.Cheap)
	pending, err := s.changePrice(subscription, s.Dear)
	require.NoError(s, err)
	require.NotNil(s, pending.Pending)
	_, err = s.ReplaceCard(s.Context(), s.attempt(), customer, s.registered(customer))
	require.NoError(s, err)
	require.NoError(s, s.Collect(s.Context(), s.attempt(), customer))
	assert.Equal(s, pending, s.only(customer))
	assert.Equal(s, s.Cheap.Amount, s.charged(customer))
}

func checkScheduledChange(s *shop) {
	customer, subscription := s.subscribed(s.Dear)
	before := s.only(customer)
	changed := twice(s, func(a payments.Attempt) (payments.Subscription, error) {
		return s.ScheduleChange(s.Context(), a, subscription, s.Cheap.ID)
	})
	assert.Equal(s, s.Dear.ID, changed.Price)
	assert.Equal(s, &payments.ScheduledChange{Price: s.Cheap.ID, EffectiveAt: before.PeriodEnd}, changed.Scheduled)
	assert.Equal(s, changed, s.only(customer))

	require.NoError(s, s.Advance(before.PeriodEnd.Add(2*time.Hour).Sub(s.Now())))
	after := s.only(customer)
	assert.Equal(s, s.Cheap.ID, after.Price)
	assert.Equal(s, before.PeriodEnd, after.PeriodStart)
	assert.Nil(s, after.Scheduled, "it has taken effect")
	assert.Equal(s, s.Dear.Amount+s.Cheap.Amount, s.charged(customer))

	up, err := s.changePrice(subscription, s.Dear)
	require.NoError(s, err)
	assert.Equal(s, s.Dear.ID, up.Price)
	down, err := s.ScheduleChange(s.Context(), s.attempt(), subscription, s.Cheap.ID)
	require.NoError(s, err, "it can be changed again")
	assert.Equal(s, &payments.ScheduledChange{Price: s.Cheap.ID, EffectiveAt: after.PeriodEnd}, down.Scheduled)
	for range 2 {
		require.NoError(s, s.Advance(s.only(customer).PeriodEnd.Add(2*time.Hour).Sub(s.Now())))
		assert.Equal(s, s.Cheap.ID, s.only(customer).Price, "it stays at that price")
	}
}

func checkDroppedChange(s *shop) {
	for name, drop := range map[string]func(subscription string) (payments.Subscription, error){
		"by itself": func(id string) (payments.Subscription, error) {
			return s.DropScheduledChange(s.Context(), s.attempt(), id)
		},
		"by a cancellation": func(id string) (payments.Subscription, error) {
			return s.SetCancelAtPeriodEnd(s.Context(), s.attempt(), id, true)
		},
		"by another change": func(id string) (payments.Subscription, error) {
			return s.changePrice(id, s.Dear)
		},
	} {
		customer, subscription := s.subscribed(s.Dear)
		_, err := s.ScheduleChange(s.Context(), s.attempt(), subscription, s.Cheap.ID)
		require.NoError(s, err, name)
		changed, err := drop(subscription)
		require.NoError(s, err, name)
		assert.Nil(s, changed.Scheduled, name)
		assert.Equal(s, changed, s.only(customer), name)
		again, err := s.DropScheduledChange(s.Context(), s.attempt(), subscription)
		require.NoError(s, err, "there is none to drop")
		assert.Equal(s, changed, again, name)
	}
}

func checkCancellation(s *shop) {
	customer, subscription := s.subscribed(s.Cheap)
	before := s.only(customer)
	set := func(cancel bool) payments.Subscription {
		return twice(s, func(a payments.Attempt) (payments.Subscription, error) {
			return s.SetCancelAtPeriodEnd(s.Context(), a, subscription, cancel)
		})
	}
	assert.True(s, set(true).CancelAtPeriodEnd)
	assert.Equal(s, before, set(false), "it continues as before")
	cancelled := set(true)
	assert.Equal(s, "active", cancelled.Status)
	require.NoError(s, s.Advance(before.PeriodEnd.Add(time.Hour).Sub(s.Now())))
	ended := s.only(customer)
	assert.Equal(s, "canceled", ended.Status)
	assert.Equal(s, before.PeriodEnd, ended.EndedAt)
	assert.False(s, ended.CancelAtPeriodEnd, "it has ended")
	for name, change := range map[string]func() (payments.Subscription, error){
		"going on": func() (payments.Subscription, error) {
			return s.SetCancelAtPeriodEnd(s.Context(), s.attempt(), subscription, false)
		},
		"the same": func() (payments.Subscription, error) {
			return s.changePrice(subscription, s.Cheap)
		},
		"another": func() (payments.Subscription, error) {
			return s.changePrice(subscription, s.Dear)
		},
		"later": func() (payments.Subscription, error) {
			return s.ScheduleChange(s.Context(), s.attempt(), subscription, s.Dear.ID)
		},
	} {
		_, err := change()
		require.ErrorIs(s, err, payments.ErrRejected, name)
	}
	assert.Equal(s, s.Cheap.Amount, s.charged(customer))
}

func checkEnd(s *shop) {
	customer, subscription := s.subscribed(s.Cheap)
	a := s.attempt()
	require.NoError(s, s.End(s.Context(), a, subscription))
	require.NoError(s, s.End(s.Context(), a, subscription))
	require.NoError(s, s.End(s.Context(), s.attempt(), subscription), "it has ended before")
	assert.Equal(s, "canceled", s.only(customer).Status)
	assert.False(s, s.only(customer).EndedAt.IsZero())

	made, err := s.Subscribe(s.Context(), s.attempt(), payments.NewSubscription{Customer: customer, Price: s.Dear.ID})
	require.NoError(s, err)
	require.NoError(s, s.End(s.Context(), s.attempt(), made.ID), "it is incomplete")
	b := s.billing(customer)
	require.Len(s, b.Subscriptions, 2)
	assert.Equal(s, made.ID, b.Subscriptions[0].ID, "the newest comes first")
	assert.NotEqual(s, "incomplete", b.Subscriptions[0].Status)
	assert.Equal(s, s.Cheap.Amount, s.charged(customer))
}

func checkCards(s *shop) {
	customer, subscription := s.subscribed(s.Cheap)
	setup := twice(s, func(a payments.Attempt) (string, error) { return s.CreateSetup(s.Context(), a, customer) })
	secret, err := s.SetupSecret(s.Context(), setup)
	require.NoError(s, err)
	require.NotEmpty(s, secret)
	require.NoError(s, s.Confirm(secret, s.Declined))
	method := s.registered(customer)
	first := s.billing(customer).Card
	card := twice(s, func(a payments.Attempt) (payments.Card, error) {
		return s.ReplaceCard(s.Context(), a, customer, method)
	})
	assert.Equal(s, method, card.PaymentMethod)
	assert.NotEqual(s, first.Last4, card.Last4)
	assert.Equal(s, &card, s.billing(customer).Card)

	_, err = s.changePrice(subscription, s.Dear)
	require.ErrorIs(s, err, payments.ErrDeclined, "the new card is charged")
	_, err = s.ReplaceCard(s.Context(), s.attempt(), customer, first.PaymentMethod)
	require.NoError(s, err)
	_, err = s.changePrice(subscription, s.Dear)
	require.NoError(s, err)
}

// registersDeclined registers a card that cannot be charged.
func (s *shop) registersDeclined(customer string) {
	s.Helper()
	setup, err := s.CreateSetup(s.Context(), s.attempt(), customer)
	require.NoError(s, err)
	secret, err := s.SetupSecret(s.Context(), setup)
	require.NoError(s, err)
	require.NoError(s, s.Confirm(secret, s.Declined))
}

// registered returns the payment method of the customer's latest event.
func (s *shop) registered(customer string) (method string) {
	s.Helper()
	for e, err := range s.Events(s.Context(), time.Unix(0, 0)) {
		require.NoError(s, err)
		if e.Type == "payment_method.attached" && e.Customer == customer {
			method = e.Object
		}
	}
	require.NotEmpty(s, method)
	return method
}

// A scheduled change is paid with the card at the time when it takes effect.
func checkCardBesideSchedule(s *shop) {
	customer, subscription := s.subscribed(s.Dear)
	old := s.billing(customer).Card
	_, err := s.ScheduleChange(s.Context(), s.attempt(), subscription, s.Cheap.ID)
	require.NoError(s, err)
	s.registersDeclined(customer)
	replaced := twice(s, func(a payments.Attempt) (payments.Card, error) {
		return s.ReplaceCard(s.Context(), a, customer, s.registered(customer))
	})
	require.NotEqual(s, *old, replaced)
	assert.NotNil(s, s.only(customer).Scheduled, "the change stays scheduled")

	require.NoError(s, s.Advance(s.only(customer).PeriodEnd.Add(2*time.Hour).Sub(s.Now())))
	b := s.billing(customer)
	assert.Equal(s, s.Cheap.ID, b.Subscriptions[0].Price)
	assert.Equal(s, &replaced, b.Card)
	assert.Equal(s, "past_due", b.Subscriptions[0].Status, "the new card was charged, and declined")
}

func checkCardsOfOthers(s *shop) {
	mine, _ := s.subscribed(s.Cheap)
	other, _ := s.subscribed(s.Cheap)
	before := s.billing(mine)
	for _, method := range []string{s.billing(other).Card.PaymentMethod, "pm_nothing"} {
		_, err := s.ReplaceCard(s.Context(), s.attempt(), mine, method)
		assert.ErrorIs(s, err, payments.ErrNotFound, method)
	}
	assert.Equal(s, before, s.billing(mine))
}

func checkInvoiceItems(s *shop) {
	customer, subscription := s.subscribed(s.Cheap)
	item := newItem(customer, subscription, 123)
	add := func(a payments.Attempt) (string, error) { return s.AddInvoiceItem(s.Context(), a, item) }
	assert.NotEmpty(s, twice(s, add))
	assert.Equal(s, []int64{item.Amount, s.Cheap.Amount}, s.due(customer), "inside a period it has an invoice of its own")
	assert.Equal(s, s.Cheap.Amount+item.Amount, s.charged(customer), "which the card has paid")

	// while the invoice of the renewal is a draft, the item is added to it
	item.Usage = "usage-" + uuid.NewString()
	require.NoError(s, s.Advance(s.only(customer).PeriodEnd.Add(time.Minute).Sub(s.Now())))
	twice(s, add)
	assert.Equal(s, []int64{s.Cheap.Amount + item.Amount, item.Amount, s.Cheap.Amount}, s.due(customer))
	assert.Equal(s, 2*s.Cheap.Amount+2*item.Amount, s.charged(customer))
}

// An item that is too small for an invoice waits for the next invoice, or for more items.
func checkSmallItems(s *shop) {
	customer, subscription := s.subscribed(s.Cheap)
	add := func() string {
		item := newItem(customer, subscription, 30)
		return twice(s, func(a payments.Attempt) (string, error) { return s.AddInvoiceItem(s.Context(), a, item) })
	}
	waiting := func() []payments.AddedItem {
		waiting, err := s.WaitingItems(s.Context(), customer)
		require.NoError(s, err)
		return waiting
	}
	first := add()
	require.Len(s, waiting(), 1)
	owed, currency, err := s.Owed(s.Context(), customer)
	require.NoError(s, err)
	assert.Zero(s, owed, "a waiting item is not on the balance")
	assert.Equal(s, "usd", currency)
	assert.Equal(s, payments.AddedItem{ID: first, Usage: waiting()[0].Usage, Characters: 6000, Amount: 30,
		Currency: "usd"}, waiting()[0])
	add()
	assert.Empty(s, waiting())
	assert.Equal(s, []int64{60, s.Cheap.Amount}, s.due(customer), "two are enough for an invoice")

	add()
	require.NoError(s, s.Advance(s.only(customer).PeriodEnd.Add(2*time.Hour).Sub(s.Now())))
	assert.Empty(s, waiting())
	assert.Equal(s, s.Cheap.Amount+30, s.due(customer)[0], "the renewal includes the waiting item")
	last := add()
	for range 2 {
		require.NoError(s, s.DropItem(s.Context(), last))
	}
	assert.Empty(s, waiting())
	assert.ErrorIs(s, s.DropItem(s.Context(), first), payments.ErrRejected, "it was invoiced")
	require.NoError(s, s.Advance(s.only(customer).PeriodEnd.Add(2*time.Hour).Sub(s.Now())))
	assert.Equal(s, s.Cheap.Amount, s.due(customer)[0])
}

// A waiting item is on the first invoice of the next subscription, and is voided with it if that is not paid.
func checkVoidItems(s *shop) {
	customer, subscription := s.subscribed(s.Cheap)
	item := newItem(customer, subscription, 30)
	id, err := s.AddInvoiceItem(s.Context(), s.attempt(), item)
	require.NoError(s, err)
	require.NoError(s, s.End(s.Context(), s.attempt(), subscription))
	_, err = s.Subscribe(s.Context(), s.attempt(), payments.NewSubscription{Customer: customer, Price: s.Cheap.ID})
	require.NoError(s, err)
	void, err := s.VoidItems(s.Context(), customer)
	require.NoError(s, err)
	assert.Empty(s, void, "the invoice can still be paid")

	require.NoError(s, s.Advance(25*time.Hour))
	void, err = s.VoidItems(s.Context(), customer)
	require.NoError(s, err)
	assert.Equal(s, []payments.AddedItem{{ID: id, Usage: item.Usage, Characters: 6000, Amount: 30, Currency: "usd"}}, void)
}

// due returns the amounts of a customer's invoices, the newest first.
func (s *shop) due(customer string) (amounts []int64) {
	s.Helper()
	for _, i := range s.billing(customer).Invoices {
		amounts = append(amounts, i.AmountDue)
	}
	return amounts
}

// The last period of a subscription is billed when there is no next invoice.
func checkBillAfterEnd(s *shop) {
	customer, subscription := s.subscribed(s.Cheap)
	require.NoError(s, s.End(s.Context(), s.attempt(), subscription))
	item := newItem(customer, subscription, 123)
	twice(s, func(a payments.Attempt) (string, error) { return s.AddInvoiceItem(s.Context(), a, item) })
	require.NoError(s, s.Advance(2*time.Hour))
	assert.Equal(s, []int64{item.Amount, s.Cheap.Amount}, s.due(customer), "an invoice of its own")
	assert.Equal(s, s.Cheap.Amount+item.Amount, s.charged(customer),
		"which the card has paid, though it is only the subscription's")
}

// Debts at the end of a customer are paid at once, or never.
func checkEndOfCustomer(s *shop) {
	customer, subscription := s.subscribed(s.Cheap)
	bill := func() {
		_, err := s.AddInvoiceItem(s.Context(), s.attempt(), newItem(customer, subscription, 123))
		require.NoError(s, err)
	}
	settle := func(a payments.Attempt) (struct{}, error) {
		return struct{}{}, s.SettleInvoices(s.Context(), a, customer)
	}
	bill()
	twice(s, settle)
	assert.Equal(s, s.Cheap.Amount+123, s.charged(customer), "without waiting for the draft")
	bill()
	require.NoError(s, s.FailNextPayment(customer))
	require.NoError(s, s.SettleInvoices(s.Context(), s.attempt(), customer))
	assert.Equal(s, "uncollectible", s.billing(customer).Invoices[0].Status)
	twice(s, settle)
	assert.Equal(s, s.Cheap.Amount+123, s.charged(customer))
	_, err := s.Subscribe(s.Context(), s.attempt(), payments.NewSubscription{Customer: customer, Price: s.Dear.ID})
	require.NoError(s, err)
	require.NoError(s, s.SettleInvoices(s.Context(), s.attempt(), customer))
	assert.Equal(s, "open", s.billing(customer).Invoices[0].Status, "an incomplete subscription is not a debt")

	twice(s, func(a payments.Attempt) (struct{}, error) {
		return struct{}{}, s.DeleteCustomer(s.Context(), a, customer)
	})
	gone := s.billing(customer)
	assert.True(s, gone.Deleted)
	assert.Nil(s, gone.Card)
	require.NoError(s, s.SettleInvoices(s.Context(), s.attempt(), customer), "nothing is left")
	require.NoError(s, s.DeleteCustomer(s.Context(), s.attempt(), "cus_nothing"))
}

func checkMoneyBack(s *shop) {
	customer, _ := s.subscribed(s.Cheap)
	invoice := s.billing(customer).Invoices[0]
	require.NoError(s, s.Refund(invoice.ID, 100))
	assert.EqualValues(s, 100, s.billing(customer).Invoices[0].Refunded)
	require.NoError(s, s.Refund(invoice.ID, 0))
	got := s.billing(customer).Invoices[0]
	assert.Equal(s, invoice.AmountPaid, got.Refunded)
	assert.False(s, got.Disputed)

	for _, won := range []bool{true, false} {
		customer, _ := s.subscribed(s.Cheap)
		dispute, err := s.Dispute(s.billing(customer).Invoices[0].ID)
		require.NoError(s, err)
		assert.True(s, s.billing(customer).Invoices[0].Disputed)
		require.NoError(s, s.CloseDispute(dispute, won))
		after := s.billing(customer).Invoices[0]
		assert.Equal(s, !won, after.Disputed, "won: %t", won)
		assert.Equal(s, map[bool]string{true: "won", false: "lost"}[won], after.Dispute)
		assert.Equal(s, s.Cheap.Amount, after.DisputedSum)
	}
}

func checkFailedPayment(s *shop) {
	customer, _ := s.subscribed(s.Cheap)
	end := s.only(customer).PeriodEnd
	require.NoError(s, s.FailNextPayment(customer))
	require.NoError(s, s.Advance(end.Add(2*time.Hour).Sub(s.Now())))
	b := s.billing(customer)
	assert.Equal(s, "past_due", b.Subscriptions[0].Status)
	require.Len(s, b.Invoices, 2)
	assert.Equal(s, []string{"open", "paid"}, []string{b.Invoices[0].Status, b.Invoices[1].Status})
	assert.EqualValues(s, 1, b.Invoices[0].Attempts)
	require.NoError(s, s.Advance(7*24*time.Hour), "it is tried again")
	assert.Equal(s, "active", s.only(customer).Status)
	assert.Equal(s, 2*s.Cheap.Amount, s.charged(customer))
}

func checkCardForDebt(s *shop) {
	customer, _ := s.subscribed(s.Cheap)
	good := s.billing(customer).Card.PaymentMethod
	s.registersDeclined(customer)
	replace := func(method string) {
		twice(s, func(a payments.Attempt) (payments.Card, error) {
			return s.ReplaceCard(s.Context(), a, customer, method)
		})
	}
	bad := s.registered(customer)
	replace(bad)
	require.NoError(s, s.Advance(s.only(customer).PeriodEnd.Add(2*time.Hour).Sub(s.Now())))
	require.Equal(s, "past_due", s.only(customer).Status)

	replace(bad)
	assert.Equal(s, "past_due", s.only(customer).Status, "a card that does not pay leaves the invoice open")
	replace(good)
	assert.Equal(s, "active", s.only(customer).Status)
	assert.Equal(s, 2*s.Cheap.Amount, s.charged(customer))
}

// The card belongs to the customer, so it stays after the subscription and pays debts.
func checkCardForItems(s *shop) {
	customer, subscription := s.subscribed(s.Cheap)
	collect := func() {
		twice(s, func(a payments.Attempt) (any, error) { return nil, s.Collect(s.Context(), a, customer) })
	}
	collect()
	card := s.billing(customer).Card
	require.NoError(s, s.End(s.Context(), s.attempt(), subscription))
	assert.Equal(s, card, s.billing(customer).Card, "it is the customer's")

	for range 2 {
		require.NoError(s, s.FailNextPayment(customer))
		_, err := s.AddInvoiceItem(s.Context(), s.attempt(), newItem(customer, subscription, 123))
		require.NoError(s, err)
		require.NoError(s, s.Advance(2*time.Hour))
	}
	assert.Equal(s, "open", s.billing(customer).Invoices[0].Status)
	assert.Equal(s, s.Cheap.Amount, s.charged(customer))
	require.NoError(s, s.FailNextPayment(customer))
	require.NoError(s, s.Collect(s.Context(), s.attempt(), customer), "a card that does not pay leaves an invoice open")
	assert.Equal(s, s.Cheap.Amount+123, s.charged(customer))
	collect()
	assert.Equal(s, s.Cheap.Amount+2*123, s.charged(customer))
}

func checkEvents(s *shop) {
	customer, subscription := s.subscribed(s.Cheap)
	b := s.billing(customer)
	require.NoError(s, s.Refund(b.Invoices[0].ID, 100))
	dispute, err := s.Dispute(b.Invoices[0].ID)
	require.NoError(s, err)
	_, err = s.ScheduleChange(s.Context(), s.attempt(), subscription, s.Dear.ID)
	require.NoError(s, err)
	var last time.Time
	ids := map[string]bool{}
	seen := map[string]string{} // objects, by type
	for e, err := range s.Events(s.Context(), s.Now().Add(-time.Hour)) {
		require.NoError(s, err)
		assert.False(s, e.CreatedAt.Before(last), "oldest first")
		assert.False(s, ids[e.ID], "each once")
		last, ids[e.ID], seen[e.Type] = e.CreatedAt, true, e.Object
		owner, err := s.CustomerOf(s.Context(), e)
		require.NoError(s, err, "%+v", e)
		assert.Equal(s, customer, owner, "%+v", e)
		e.Customer = "" // as in events without a customer
		owner, err = s.CustomerOf(s.Context(), e)
		require.NoError(s, err, "%+v", e)
		assert.Contains(s, []string{customer, ""}, owner, "%+v", e)
	}
	for kind, object := range map[string]string{
		"customer.created": customer, "customer.subscription.created": subscription,
		"customer.subscription.updated": subscription,
		"invoice.paid":                  b.Invoices[0].ID, "payment_method.attached": b.Card.PaymentMethod,
		"charge.dispute.created": dispute,
	} {
		assert.Equal(s, object, seen[kind], kind)
	}
	for _, err := range s.Events(s.Context(), time.Unix(0, 0)) {
		require.NoError(s, err)
		break // ends the listing
	}
}

func checkNothing(s *shop) {
	customer := s.customer()
	for name, do := range map[string]func() error{
		"account":       func() error { _, err := s.AccountOf(s.Context(), "cus_nothing"); return err },
		"billing":       func() error { _, err := s.Billing(s.Context(), "cus_nothing"); return err },
		"first payment": func() error { _, err := s.FirstPayment(s.Context(), "sub_nothing"); return err },
		"change": func() error {
			c := payments.PriceChange{Subscription: "sub_nothing", Price: s.Dear.ID}
			_, err := s.ChangePrice(s.Context(), s.attempt(), c)
			return err
		},
		"schedule": func() error {
			_, err := s.ScheduleChange(s.Context(), s.attempt(), "sub_nothing", s.Dear.ID)
			return err
		},
		"end":    func() error { return s.End(s.Context(), s.attempt(), "sub_nothing") },
		"set-up": func() error { _, err := s.SetupSecret(s.Context(), "seti_nothing"); return err },
		"price": func() error {
			_, err := s.Subscribe(s.Context(), s.attempt(), payments.NewSubscription{Customer: customer, Price: "price_nothing"})
			return err
		},
		"event's object": func() error {
			_, err := s.CustomerOf(s.Context(), payments.Event{Type: "invoice.paid", Object: "in_nothing"})
			return err
		},
	} {
		assert.ErrorIs(s, do(), payments.ErrNotFound, name)
	}
	owner, err := s.CustomerOf(s.Context(), payments.Event{Type: "product.updated", Object: "prod_1"})
	require.NoError(s, err)
	assert.Empty(s, owner, "a product belongs to no customer")
}

// withMock runs tests with a stripe-mock in mock, for TestMain.
func withMock(m goleak.TestingM, mock **requestChecker) goleak.TestingM { return running{m, mock} }

type running struct {
	goleak.TestingM
	mock **requestChecker
}

// Run implements goleak.TestingM.
func (r running) Run() int {
	m, err := startMock()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer m.Stop()
	*r.mock = m
	return r.TestingM.Run()
}
