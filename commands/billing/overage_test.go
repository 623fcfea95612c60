package billing_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	api "github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// books is a period of the ledger with an overage.
type books struct {
	mu     sync.Mutex
	over   ledger.PeriodOverage
	billed []ledger.Bill
}

// over returns a period of an account with characters past its plan.
func (s *world) over(account string, past plan.Type, characters int64) *books {
	return &books{over: ledger.PeriodOverage{
		Account: account, Plan: past, Characters: characters, At: s.sandbox.Now(),
	}}
}

func (b *books) OverageOn(context.Context, string, int64) (ledger.PeriodOverage, eventlog.Position, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	over := b.over
	over.Billed = len(b.billed) > 0
	return over, eventlog.Position{}, nil
}

func (b *books) OverageBilled(
	ctx context.Context, _ string, _ int64, made ledger.Bill, _ uuid.UUID,
) (eventlog.Position, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		return eventlog.Position{}, ctx.Err()
	}
	b.billed = append(b.billed, made)
	return eventlog.Position{Commit: 1}, nil
}

// EndFor implements billing.Periods.
func (b *books) EndFor(context.Context, string) ([]todo.Item, error) { return nil, nil }

// items returns the amounts of an account's items, waiting or invoiced.
func (s *world) items(account string) (amounts []int64) {
	for one, err := range s.api.V1InvoiceItems.List(s.T.Context(),
		&api.InvoiceItemListParams{Customer: new(s.state(account).Customer)}) {
		require.NoError(s.T, err)
		if one.Metadata["usage"] != "" {
			amounts = append(amounts, one.Amount)
		}
	}
	return amounts
}

func TestOverageIsBilledOnce(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	over := ledger.PeriodOverage{
		Account: account, Plan: plan.Pro, Start: s.sandbox.Now(), End: s.sandbox.Now(), Characters: 123_456,
		At: s.sandbox.Now(),
	}
	const stream = "usage-a-1"

	// after a crash at any change, before or after it, also if it is completed a day later
	period := &books{over: over}
	s.Periods = period
	for _, after := range []bool{false, true} {
		f := &commandstest.Fuse{At: 1, After: after}
		dying, ctx := s.mortal(t, f)
		dying.Periods = period
		_, err := dying.BillOverage(ctx, stream, 3, cause())
		require.Error(t, err)
		require.Empty(t, period.billed)
		s.advance(25 * time.Hour)
	}
	for range 2 {
		s.Must(s.BillOverage(t.Context(), stream, 3, cause()))
	}
	require.Equal(t, []int64{553}, s.items(account), "123 full units of 4.5 cents")
	require.Len(t, period.billed, 1)
	require.NotEmpty(t, period.billed[0].Item)
	require.Equal(t, ledger.Bill{Units: 123, Amount: 553, Currency: "usd", Item: period.billed[0].Item},
		period.billed[0])

	// and it has an invoice of its own, which is paid
	s.advance(2*time.Hour, account)
	own := s.has(account).Invoices[0]
	require.EqualValues(t, 553, own.AmountPaid)
	require.Equal(t, "paid", own.Status)
}

func TestOverageIsOnTheRenewalsInvoiceWhileThatIsADraft(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	s.advance(s.has(account).Subscriptions[0].PeriodEnd.Add(time.Minute).Sub(s.sandbox.Now()), account)
	s.Periods = s.over(account, plan.Pro, 10_000)
	s.Must(s.BillOverage(t.Context(), "usage-a-1", 3, cause()))
	s.advance(2*time.Hour, account)
	require.EqualValues(t, 4900+45, s.has(account).Invoices[0].AmountPaid)
	require.Len(t, s.has(account).Invoices, 2)
}

func TestOverageOfAPlanThatIsLeft(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(premium)
	s.Must(s.ChangePlan(t.Context(), account, indie, none, origin))
	s.advance(32*24*time.Hour, account)
	require.Equal(t, plan.Indie, s.state(account).Entitled.Plan)

	// then its characters have their price on that plan
	period := s.over(account, plan.Premium, 10_000)
	s.Periods = period
	s.Must(s.BillOverage(t.Context(), "usage-a-1", 3, cause()))
	require.Equal(t, []int64{35}, s.items(account))
}

func TestOverageOfTheLastPeriodIsInvoicedByItself(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	s.Must(s.Cancel(t.Context(), account, none, origin))
	s.advance(32*24*time.Hour, account)
	require.Equal(t, plan.Free, s.state(account).Entitled.Plan)

	s.Periods = s.over(account, plan.Pro, 100_000)
	s.Must(s.BillOverage(t.Context(), "usage-a-1", 3, cause()))
	s.advance(2*time.Hour, account)
	invoice := s.has(account).Invoices[0]
	require.EqualValues(t, 450, invoice.AmountPaid)
	require.Equal(t, "paid", invoice.Status)
}

func TestOverageThatComesToNothing(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	for name, over := range map[string]ledger.PeriodOverage{
		"no full unit":                          {Account: account, Plan: plan.Pro, Characters: 999},
		"nothing":                               {Account: account, Plan: plan.Pro},
		"a plan that was never bought":          {Account: account, Plan: plan.Premium, Characters: 1_000_000},
		"an account that never bought anything": {Account: accounts.NewAccountID(), Plan: plan.Pro, Characters: 1_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			period := &books{over: over}
			s.Periods = period
			s.Must(s.BillOverage(t.Context(), "usage-"+over.Account+"-1", 3, cause()))
			require.Len(t, period.billed, 1)
			require.Empty(t, period.billed[0].Item)
			require.Zero(t, period.billed[0].Amount)
		})
	}
	require.Empty(t, s.items(account))
}

func TestOverageThatNobodyIsLeftToChargeFor(t *testing.T) {
	// given an account with a customer that was manually deleted at the provider
	s := newWorld(t)
	account := s.subscribed(pro)
	customer := s.state(account).Customer
	attempt := payments.Attempt{ID: "by-hand", First: s.sandbox.Now()}
	require.NoError(t, s.Gateway.DeleteCustomer(t.Context(), attempt, customer))
	s.Must(s.Refresh(t.Context(), account))

	// when its usage past its plan is billed
	period := s.over(account, plan.Pro, 10_000)
	s.Periods = period
	for range 2 {
		s.Must(s.BillOverage(t.Context(), "usage-a-1", 3, cause()))
	}

	// then the loss is recorded once
	var lost []subscription.Event
	for _, event := range s.events(account) {
		if _, is := event.(subscription.Lost); is {
			lost = append(lost, event)
		}
	}
	require.Len(t, lost, 1)
	require.Equal(t, subscription.Lost{Account: account, Object: "usage-a-1/3", Reason: subscription.NoCustomer,
		Characters: 10_000, Amount: 45, Currency: "usd", At: lost[0].(subscription.Lost).At}, lost[0])
	require.Empty(t, period.billed[0].Item)
}

// Given a downgrade that the account follows, and a subscription that was cancelled meanwhile, when characters past the
// smaller plan are used before the account follows the end, then they have the price of that plan.
func TestOverageOfAPlanThatWasToBegin(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	s.Must(s.ChangePlan(t.Context(), account, indie, none, origin))
	s.Must(s.DropScheduledChange(t.Context(), account, none, origin))
	s.Must(s.Cancel(t.Context(), account, none, origin))
	s.advance(32*24*time.Hour, account)
	s.Periods = s.over(account, plan.Indie, 10_000)
	s.Must(s.BillOverage(t.Context(), "usage-a-1", 3, cause()))
	require.Equal(t, []int64{50}, s.items(account))
}

// Given an account that has used more than its plan, when it cancels and uses more, then all of it is one overage: plan
// and price are the same, and no part of a unit is lost.
func TestAPlanThatStaysIsBilledOnce(t *testing.T) {
	h := newClosingWorld(t)
	id := h.speaker(10_500)
	customer := h.state(id).Customer
	h.Must(h.Cancel(t.Context(), id, none, origin))
	h.follow(id)
	h.speak(id, 10_500)
	h.close(id)
	require.NoError(t, h.goOn(t.Context(), h.Billing, h.accounts, id))
	last, lost := h.requireOver(id, customer)
	require.EqualValues(t, 105, last.AmountPaid, "21 full units of 5 cents")
	require.Empty(t, lost)
	h.requireBilledOnce(id, customer)
}
