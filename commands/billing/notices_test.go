package billing_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	api "github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/spec"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// busy is a provider that counts looks.
type busy struct {
	payments.Gateway
	looks, prices atomic.Int64
}

func (b *busy) Billing(ctx context.Context, customer string) (payments.Billing, error) {
	b.looks.Add(1)
	return b.Gateway.Billing(ctx, customer)
}

func (b *busy) Excerpt(ctx context.Context, customer string, invoices bool) (payments.Billing, error) {
	b.looks.Add(1)
	return b.Gateway.Excerpt(ctx, customer, invoices)
}

func (b *busy) Prices(ctx context.Context) ([]payments.Price, error) {
	b.prices.Add(1)
	return b.Gateway.Prices(ctx)
}

// occurred returns the provider's events, oldest first.
func (s *world) occurred() (all []payments.Event) {
	s.T.Helper()
	for e, err := range s.Gateway.Events(s.T.Context(), time.Time{}) {
		require.NoError(s.T, err)
		all = append(all, e)
	}
	return all
}

func (s *world) notice(id string) payment.State {
	return spec.Fold(payment.Evolve, commandstest.Fold[payment.Event](s.World, payment.Stream(id)))
}

func TestANoticeIsRecordedOnceAndHandled(t *testing.T) {
	s := newWorld(t)
	account := accounts.NewAccountID()
	made, err := s.Subscribe(t.Context(), account, pro, none, origin)
	require.NoError(t, err)
	s.pay(made, "pm_card_visa")

	// when all notices arrive twice, in reverse order
	events := s.occurred()
	for i := range events {
		for range 2 {
			s.Must(s.RecordNotice(t.Context(), events[len(events)-1-i], false))
		}
	}
	for _, e := range events {
		require.Len(t, commandstest.Fold[payment.Event](s.World, payment.Stream(e.ID)), 1)
	}

	// and one is handled, then the account has the state after all of them
	require.Nil(t, s.state(account).Entitled)
	for _, e := range events {
		if e.Type == "invoice.paid" {
			s.Must(s.HandleNotice(t.Context(), payment.Stream(e.ID), cause()))
			require.Equal(t, payment.State{Notice: s.notice(e.ID).Notice, Handled: true}, s.notice(e.ID))
		}
	}
	require.Equal(t, plan.Pro, s.state(account).Entitled.Plan)
	recorded := len(s.events(account))
	for _, e := range events {
		for range 2 {
			s.Must(s.HandleNotice(t.Context(), payment.Stream(e.ID), cause()))
		}
		require.True(t, s.notice(e.ID).Handled)
	}
	require.Len(t, s.events(account), recorded, "nothing was new")
}

func TestNoticesThatAreAboutNoAccount(t *testing.T) {
	s := newWorld(t)
	// given a customer of another application, one with the id of an account of ours, and a deleted one
	account := s.subscribed(pro)
	customer := func(metadata map[string]string) string {
		made, err := s.api.V1Customers.Create(t.Context(), &api.CustomerCreateParams{Metadata: metadata})
		require.NoError(t, err)
		return made.ID
	}
	recorded := len(s.events(account))
	for name, e := range map[string]payments.Event{
		"an unknown type": {Type: "radar.early_fraud_warning.created", Object: "issfr_1"},
		"no type":         {},
		"a stranger":      {Type: "invoice.paid", Customer: customer(nil)},
		"a customer without account": {Type: "invoice.paid",
			Customer: customer(map[string]string{"account": accounts.NewAccountID()})},
		"one that takes ours":      {Type: "invoice.paid", Customer: customer(map[string]string{"account": account})},
		"one that never was":       {Type: "invoice.paid", Customer: "cus_never"},
		"an object that never was": {Type: "payment_method.attached", Object: "pm_never"},
	} {
		t.Run(name, func(t *testing.T) {
			e.ID = "evt_" + strings.ReplaceAll(name, " ", "_")
			e.CreatedAt = s.sandbox.Now()
			s.Must(s.RecordNotice(t.Context(), e, false))
			s.Must(s.HandleNotice(t.Context(), payment.Stream(e.ID), cause()))
			require.True(t, s.notice(e.ID).Handled)
			events := commandstest.Fold[payment.Event](s.World, payment.Stream(e.ID))
			require.Empty(t, events[1].(payment.Handled).Account)
		})
	}
	require.Len(t, s.events(account), recorded)
}

func TestANoticeForAnalyticsIsRecordedApart(t *testing.T) {
	s := newWorld(t)
	e := payments.Event{ID: "evt_1", Type: "invoice.paid", CreatedAt: s.sandbox.Now()}
	for range 2 {
		s.Must(s.RecordNotice(t.Context(), e, true))
	}
	require.Empty(t, commandstest.Fold[payment.Event](s.World, payment.Stream("evt_1")))
	recorded := commandstest.Fold[payment.Event](s.World, payment.AnalyticsStream("evt_1"))
	require.Len(t, recorded, 1)
	require.True(t, recorded[0].(payment.Received).Analytics)
}

func TestANoticeWithoutAValidIDIsRefused(t *testing.T) {
	s := newWorld(t)
	for _, id := range []string{"", "reconciliation/..", "analytics-evt_1", "a b"} {
		_, err := s.RecordNotice(t.Context(), payments.Event{ID: id, Type: "invoice.paid"}, false)
		require.Equal(t, domain.Invalid, domain.CodeOf(err), id)
	}
}

// Notices that were received before the start of a look need none of their own.
func TestManyNoticesCostOneLook(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	asked := &busy{Gateway: s.Gateway}
	b := s.instance(s.Log, asked, "")
	events := s.occurred()
	for _, e := range events {
		s.Must(b.RecordNotice(t.Context(), e, false))
	}
	require.Greater(t, len(events), 5)

	handle := func() {
		var wait sync.WaitGroup
		for _, e := range events {
			wait.Go(func() {
				_, err := b.HandleNotice(t.Context(), payment.Stream(e.ID), cause())
				assert.NoError(t, err)
			})
		}
		wait.Wait()
	}
	handle()
	require.EqualValues(t, 1, asked.looks.Load())

	// a later notice needs another look, because it may report another change
	s.Must(s.Cancel(t.Context(), account, none, origin))
	_, err := b.RecordNotice(t.Context(), payments.Event{ID: "evt_later", Type: "customer.subscription.updated",
		Customer: s.state(account).Customer}, false)
	require.NoError(t, err)
	s.Must(b.HandleNotice(t.Context(), payment.Stream("evt_later"), cause()))
	require.EqualValues(t, 2, asked.looks.Load())
}

func TestTheCatalogueFollowsThePrices(t *testing.T) {
	s := newWorld(t)
	list := func() catalogue.State {
		return spec.Fold(catalogue.Evolve, commandstest.Fold[catalogue.Event](s.World, catalogue.Stream))
	}
	dollars := catalogue.Listing{OnSale: true, Price: catalogue.Price{
		ID: pro, Name: "Pro", Plan: plan.Pro, Amount: 4900, Currency: "usd", OverageMillis: 4500, OverageUnit: 1000,
	}}
	listed, found := list().Find(pro)
	require.True(t, found)
	require.Equal(t, dollars, listed)
	require.Len(t, list().Listed, 3)

	// given prices without a plan of ours, for the free plan, of 0, with invalid overage, and an archived one
	amount := int64(1)
	price := func(metadata map[string]string) string {
		made, err := s.api.V1Prices.Create(t.Context(), &api.PriceCreateParams{
			Currency: new("usd"), UnitAmount: &amount, Product: new("prod_pro"), Metadata: metadata,
			Recurring: &api.PriceCreateRecurringParams{Interval: new("month")},
		})
		require.NoError(t, err)
		return made.ID
	}
	foreign, free := price(map[string]string{"plan": "gold"}), price(map[string]string{"plan": "free"})
	odd := price(map[string]string{"plan": "premium", "overage_millis": "-5", "overage_unit": "many"})
	amount = 0
	gift := price(map[string]string{"plan": "premium"})
	s.Must(s.api.V1Prices.Update(t.Context(), indie, &api.PriceUpdateParams{Active: new(false)}))

	// when a notice reports a change of prices
	asked := &busy{Gateway: s.Gateway}
	b := s.instance(s.Log, asked, "")
	for _, id := range []string{"evt_p1", "evt_p2"} {
		s.Must(b.RecordNotice(t.Context(), payments.Event{ID: id, Type: "price.updated", Object: indie}, false))
	}
	for _, id := range []string{"evt_p1", "evt_p2"} {
		s.Must(b.HandleNotice(t.Context(), payment.Stream(id), cause()))
	}

	// then the catalogue has the prices on sale
	require.EqualValues(t, 1, asked.prices.Load())
	for id, want := range map[string]bool{foreign: false, free: false, gift: false, odd: true, indie: true, pro: true} {
		_, found := list().Find(id)
		require.Equal(t, want, found, id)
	}
	withdrawn, _ := list().Find(indie)
	require.False(t, withdrawn.OnSale)
	strange, _ := list().Find(odd)
	require.Equal(t, catalogue.Price{ID: odd, Name: "Pro", Plan: plan.Premium, Amount: 1, Currency: "usd"}, strange.Price)
	_, err := s.Subscribe(t.Context(), accounts.NewAccountID(), indie, none, origin)
	require.Equal(t, domain.Invalid, domain.CodeOf(err))
}

func TestReconciliationFindsWhatNoNoticeSaid(t *testing.T) {
	s := newWorld(t)
	account := accounts.NewAccountID()
	made, err := s.Subscribe(t.Context(), account, pro, none, origin)
	require.NoError(t, err)
	s.pay(made, "pm_card_visa")
	missed := 0
	s.Missed = func(time.Time) { missed++ }

	// when no notice arrives, then the first reconciliation records all events
	require.NoError(t, s.Reconcile(t.Context()))
	for _, e := range s.occurred() {
		require.True(t, s.notice(e.ID).Exists())
		s.Must(s.HandleNotice(t.Context(), payment.Stream(e.ID), cause()))
	}
	require.Equal(t, plan.Pro, s.state(account).Entitled.Plan)

	// the next one records the new events
	before := len(s.occurred())
	s.Must(s.Cancel(t.Context(), account, none, origin))
	require.NoError(t, s.Reconcile(t.Context()))
	require.Greater(t, len(s.occurred()), before)
	for _, e := range s.occurred() {
		require.True(t, s.notice(e.ID).Exists())
	}
	done := commandstest.Fold[payment.Event](s.World, payment.ReconciliationStream)
	require.Len(t, done, 2)
	require.Equal(t, len(s.occurred())-before, done[1].(payment.Reconciled).Missed)
	require.Equal(t, len(s.occurred()), missed)

	// and one without new events records none
	require.NoError(t, s.Reconcile(t.Context()))
	require.Len(t, commandstest.Fold[payment.Event](s.World, payment.ReconciliationStream), 2)
}

func TestReconciliationLooksAtWhatIsOverdue(t *testing.T) {
	s := newWorld(t)
	s.overdue = []string{s.subscribed(pro), s.subscribed(pro)}
	slices.Sort(s.overdue)
	s.advance(40 * 24 * time.Hour)
	starts := map[string]time.Time{}
	for _, account := range s.overdue {
		starts[account] = s.state(account).Entitled.Start
	}
	require.NoError(t, s.Reconcile(t.Context()))
	for account, start := range starts {
		require.True(t, s.state(account).Entitled.Start.After(start))
	}
}

func TestAPlanIsWithdrawnWhenNobodyPays(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	s.Must(s.ReplaceCard(t.Context(), account, s.register(account, "pm_card_chargeCustomerFail"), none, origin))
	stream := "subscription-" + account
	s.advance(s.state(account).Entitled.End.Sub(s.sandbox.Now())+2*time.Hour, account)
	require.Equal(t, "past_due", s.state(account).Subscriptions[0].Status)
	require.Equal(t, plan.Pro, s.state(account).Entitled.Plan)

	// not before the end of the grace
	began := cause()
	var notYet *todo.NotYetError
	_, err := s.Lapse(t.Context(), stream, began)
	require.ErrorAs(t, err, &notYet)
	require.InDelta(t, grace, notYet.After, float64(time.Hour))
	require.Empty(t, s.alerts(alert.Unpaid))

	// nor while the alert cannot be raised
	s.advance(grace)
	s.deaf = true
	_, err = s.Lapse(t.Context(), stream, began)
	require.ErrorIs(t, err, errDeaf)
	require.Equal(t, plan.Pro, s.state(account).Entitled.Plan)
	s.deaf = false

	// then once, with an alert
	for range 2 {
		s.Must(s.Lapse(t.Context(), stream, began))
		require.Equal(t, plan.Free, s.state(account).Entitled.Plan)
		require.Len(t, s.alerts(alert.Unpaid), 1)
	}
	require.Equal(t, began, s.alerts(alert.Unpaid)[0].Cause)
	require.Equal(t, account, s.alerts(alert.Unpaid)[0].Subject)

	// another card pays the debt, and restores it
	s.Must(s.ReplaceCard(t.Context(), account, s.register(account, "pm_card_visa"), none, origin))
	require.Equal(t, plan.Pro, s.state(account).Entitled.Plan)
	s.Must(s.Lapse(t.Context(), stream, began))
	require.Equal(t, plan.Pro, s.state(account).Entitled.Plan)
}

func TestAProviderThatIsAwayIsAskedLater(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(indie)
	away := s.instance(s.Log, s.gateway("http://127.0.0.1:1"), "")
	_, err := away.ChangePlan(t.Context(), account, pro, none, origin)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
	require.Nil(t, s.state(account).Open, "nothing was begun")
	_, err = away.Refresh(t.Context(), account)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
	_, err = away.Subscribe(t.Context(), accounts.NewAccountID(), pro, none, origin)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
}

// A wrong key of the provider withdraws no plan, and leaves no executed request open.
func TestTheWrongProviderIsNoAnswer(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(indie)
	before := s.state(account)
	wrong := s.instance(s.Log, s.gateway(newProvider(t).URL()), "")
	_, err := wrong.Refresh(t.Context(), account)
	require.Error(t, err)
	require.Empty(t, domain.CodeOf(err))
	_, err = wrong.ChangePlan(t.Context(), account, pro, none, origin)
	require.Error(t, err)
	require.Empty(t, domain.CodeOf(err), "not the client's fault")
	require.Equal(t, before, s.state(account))

	// even in the middle of a request
	f := &commandstest.Fuse{At: 2}
	dying, ctx := s.mortal(t, f)
	_, err = dying.ChangePlan(ctx, account, pro, none, origin)
	require.Error(t, err)
	require.NotNil(t, s.state(account).Open)
	s.advance(billing.Patience)
	_, err = wrong.CompleteRequest(t.Context(), "subscription-"+account, cause())
	require.Error(t, err, "it is not done")
	require.NotNil(t, s.state(account).Open)
	s.Must(s.CompleteRequest(t.Context(), "subscription-"+account, cause()))
	require.Equal(t, plan.Pro, s.state(account).Entitled.Plan)
}

// meanwhile is a provider that calls happens after the first look.
type meanwhile struct {
	payments.Gateway
	happens func()
}

func (m *meanwhile) Billing(ctx context.Context, customer string) (payments.Billing, error) {
	has, err := m.Gateway.Billing(ctx, customer)
	m.happens()
	return has, err
}

// A look that was overtaken by another one is not recorded, because it is older.
func TestAnOlderLookNeverWins(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	slow := s.instance(s.Log, &meanwhile{s.Gateway, sync.OnceFunc(func() {
		_, err := s.Cancel(t.Context(), account, none, origin)
		assert.NoError(t, err)
	})}, "")
	s.Must(slow.Refresh(t.Context(), account))
	require.False(t, s.state(account).Subscriptions[0].CancelAt.IsZero())
	recorded := len(s.events(account))
	s.Must(s.Refresh(t.Context(), account))
	require.Len(t, s.events(account), recorded)
}

// during is a provider that calls happens during a cancellation.
type during struct {
	payments.Gateway
	happens func()
}

func (d *during) SetCancelAtPeriodEnd(
	ctx context.Context, a payments.Attempt, subscription string, cancel bool,
) (payments.Subscription, error) {
	d.happens()
	return d.Gateway.SetCancelAtPeriodEnd(ctx, a, subscription, cancel)
}

// While the provider executes a request for long, notices about the same account are postponed, so that notices about
// others need not wait.
func TestANoticeRestsWhileARequestIsUnderWay(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	e := payments.Event{ID: "evt_during", Type: "customer.subscription.updated", Customer: s.state(account).Customer}
	gateway := &during{Gateway: s.Gateway}
	b := s.instance(s.Log, gateway, "")
	s.Must(b.RecordNotice(t.Context(), e, false))
	handle := func() error {
		_, err := b.HandleNotice(t.Context(), payment.Stream(e.ID), cause())
		return err
	}
	gateway.happens = func() {
		var notYet *todo.NotYetError
		assert.ErrorAs(t, handle(), &notYet)
	}
	s.Must(b.Cancel(t.Context(), account, none, origin))
	require.False(t, s.notice(e.ID).Handled)

	require.NoError(t, handle())
	require.True(t, s.notice(e.ID).Handled)
}

func TestAnErrorOfTheProviderIsNotTakenForAnAnswer(t *testing.T) {
	s := newWorld(t)
	odd := s.instance(s.Log, &failing{s.Gateway}, "")
	account := s.subscribed(indie)
	_, err := odd.ChangePlan(t.Context(), account, pro, none, origin)
	require.ErrorIs(t, err, errOdd)
	require.NotNil(t, s.state(account).Open, "it may have been done")
	s.advance(billing.Patience)
	s.Must(s.CompleteRequest(t.Context(), "subscription-"+account, cause()))
	require.Equal(t, plan.Pro, s.state(account).Entitled.Plan)
}

var errOdd = errors.New("odd")

// failing is a provider that fails with an unexpected error.
type failing struct{ payments.Gateway }

func (*failing) ChangePrice(context.Context, payments.Attempt, payments.PriceChange) (payments.Subscription, error) {
	return payments.Subscription{}, errOdd
}
