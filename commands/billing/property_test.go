package billing_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// customer is an account with random actions of its owner and random delivery of notices.
type customer struct {
	*world
	draw    *rapid.T
	t       *testing.T
	account string
	began   time.Time
	last    billing.NewSubscription
}

// For any commands, crashes, lost, repeated or reordered notices, and passing time: after a reconciliation the
// account's state and debts equal the provider's.
func TestEverythingEndsInWhatTheProviderHas(t *testing.T) {
	s := newWorld(t)
	proptest.Check(t, 4, func(draw *rapid.T) {
		c := &customer{world: s, draw: draw, t: t, account: accounts.NewAccountID(), began: s.sandbox.Now()}
		if rapid.Bool().Draw(draw, "subscribed") {
			c.account = s.subscribed(c.price())
		}
		steps := []func(){
			c.subscribe, c.pay, c.change, c.change, c.cancel, c.uncancel, c.drop, c.setUp, c.card, c.refund, c.decline, c.lapse,
			c.pass, c.pass, c.deliver, c.deliver, c.crash,
		}
		for range rapid.IntRange(3, 20).Draw(draw, "steps") {
			rapid.SampledFrom(steps).Draw(draw, "step")()
		}
		if rapid.Bool().Draw(draw, "completed") {
			c.advance(billing.Patience)
			c.complete()
			c.settle()
			c.requireSame()
		}
		require.NoError(t, s.EndFor(t.Context(), c.account))
		c.settle()
		c.requireSame()
	})
}

// permitted requires that an error is a valid response to a client.
func (c *customer) permitted(err error) {
	switch domain.CodeOf(err) {
	case "":
		require.NoError(c.draw, err)
	case domain.Unauthenticated, domain.Denied, domain.Unavailable:
		c.draw.Fatalf("unexpected: %v", err)
	}
}

func (c *customer) price() string {
	return rapid.SampledFrom([]string{indie, pro, premium}).Draw(c.draw, "price")
}

func (c *customer) subscribe() {
	made, err := c.Subscribe(c.t.Context(), c.account, c.price(), none, origin)
	c.permitted(err)
	if err == nil {
		c.last = made
	}
}

func (c *customer) pay() {
	if c.last.ClientSecret != "" { // refused if it is paid or expired
		_ = c.sandbox.Confirm(c.last.ClientSecret,
			rapid.SampledFrom([]string{"pm_card_visa", "pm_card_visa", "pm_card_chargeDeclined"}).Draw(c.draw, "card"))
	}
}

func (c *customer) change() {
	_, err := c.ChangePlan(c.t.Context(), c.account, c.price(), none, origin)
	c.permitted(err)
}

func (c *customer) cancel() {
	_, err := c.Cancel(c.t.Context(), c.account, none, origin)
	c.permitted(err)
}

func (c *customer) uncancel() {
	_, err := c.Uncancel(c.t.Context(), c.account, none, origin)
	c.permitted(err)
}

func (c *customer) drop() {
	_, err := c.DropScheduledChange(c.t.Context(), c.account, none, origin)
	c.permitted(err)
}

func (c *customer) setUp() {
	_, err := c.CreateSetup(c.t.Context(), c.account, none, origin)
	c.permitted(err)
}

func (c *customer) lapse() {
	var notYet *todo.NotYetError
	if _, err := c.Lapse(c.t.Context(), subscription.Stream(c.account), cause()); !errors.As(err, &notYet) {
		require.NoError(c.draw, err)
	}
}

func (c *customer) card() {
	if c.state(c.account).Customer == "" {
		return
	}
	method := c.register(c.account,
		rapid.SampledFrom([]string{"pm_card_visa", "pm_card_mastercard", "pm_card_chargeCustomerFail"}).Draw(c.draw, "card"))
	_, err := c.ReplaceCard(c.t.Context(), c.account, method, none, origin)
	c.permitted(err)
}

func (c *customer) refund() {
	for _, invoice := range c.has(c.account).Invoices {
		if invoice.AmountPaid > invoice.Refunded {
			_ = c.sandbox.Refund(invoice.ID, (invoice.AmountPaid-invoice.Refunded+1)/2)
			return
		}
	}
}

func (c *customer) decline() {
	if id := c.state(c.account).Customer; id != "" {
		require.NoError(c.draw, c.sandbox.FailNextPayment(id))
	}
}

func (c *customer) pass() {
	c.advance(time.Duration(rapid.SampledFrom([]int{1, 30, 24 * 4, 24 * 16, 24 * 32}).Draw(c.draw, "hours")) * time.Hour)
}

// happened returns the provider's events since the customer's start.
func (c *customer) happened() (all []payments.Event) {
	for e, err := range c.Gateway.Events(c.t.Context(), c.began) {
		require.NoError(c.draw, err)
		all = append(all, e)
	}
	return all
}

// deliver delivers notices: some, some twice, in any order. A worker handles some of them.
func (c *customer) deliver() {
	for _, e := range rapid.Permutation(c.happened()).Draw(c.draw, "order") {
		switch rapid.SampledFrom([]string{"lost", "late", "recorded", "recorded twice", "handled"}).Draw(c.draw, "notice") {
		case "recorded twice":
			c.record(e)
			c.record(e)
		case "recorded":
			c.record(e)
		case "handled":
			c.record(e)
			c.handle(e)
		}
	}
}

func (c *customer) record(e payments.Event) {
	_, err := c.RecordNotice(c.t.Context(), e, false)
	require.NoError(c.draw, err)
}

func (c *customer) handle(e payments.Event) {
	_, err := c.HandleNotice(c.t.Context(), payment.Stream(e.ID), cause())
	require.NoError(c.draw, err)
}

// crash crashes an instance during a change of plan or a cancellation.
func (c *customer) crash() {
	f := &commandstest.Fuse{At: rapid.IntRange(1, 4).Draw(c.draw, "at"), After: rapid.Bool().Draw(c.draw, "after")}
	dying, ctx := c.mortal(c.t, f)
	if rapid.Bool().Draw(c.draw, "cancels") {
		_, _ = dying.Cancel(ctx, c.account, none, origin)
	} else {
		_, _ = dying.ChangePlan(ctx, c.account, c.price(), none, origin)
	}
	if c.state(c.account).Open == nil {
		return
	}
	c.advance(billing.Patience)
	if rapid.Bool().Draw(c.draw, "left open") {
		return
	}
	c.complete()
}

// complete makes a worker complete the open request.
func (c *customer) complete() {
	_, err := c.CompleteRequest(c.t.Context(), subscription.Stream(c.account), cause())
	require.NoError(c.draw, err)
	require.Nil(c.draw, c.state(c.account).Open)
}

// settle reconciles, and handles all remaining notices. Changes that the provider's list of events has lost after 30
// days are found by the overdue subscription.
func (c *customer) settle() {
	c.overdue = []string{c.account}
	require.NoError(c.draw, c.Reconcile(c.t.Context()))
	for _, e := range c.happened() {
		require.True(c.draw, c.notice(e.ID).Exists(), e.Type)
		c.handle(e)
	}
}

func (c *customer) requireSame() {
	state, has := c.state(c.account), c.has(c.account)
	require.Nil(c.draw, state.Open)
	granted := plan.Free
	for _, one := range slices.Backward(has.Subscriptions) {
		known, found := state.Find(one.ID)
		require.True(c.draw, found)
		require.Equal(c.draw, fmt.Sprint(one.Status, one.Price, one.PeriodStart, one.PeriodEnd),
			fmt.Sprint(known.Status, known.Price, known.PeriodStart, known.PeriodEnd))
		require.Equal(c.draw, one.CancelAtPeriodEnd, !known.CancelAt.IsZero())
		require.Equal(c.draw, one.Scheduled != nil, known.Scheduled != nil)
		if one.Status == "active" || one.Status == "past_due" && !known.Lapsed {
			granted = known.Plan
		}
	}
	for _, one := range has.Invoices {
		i := slices.IndexFunc(state.Invoices, func(known subscription.Invoice) bool { return known.ID == one.ID })
		require.GreaterOrEqual(c.draw, i, 0)
		known := state.Invoices[i]
		require.Equal(c.draw, fmt.Sprint(one.Status, one.AmountDue, one.AmountPaid, one.Refunded),
			fmt.Sprint(known.Status, known.AmountDue, known.AmountPaid, known.Refunded))
	}
	require.Equal(c.draw, has.Card == nil, state.Card == nil)
	if has.Card != nil {
		require.Equal(c.draw, has.Card.PaymentMethod, state.Card.PaymentMethod)
	}
	if state.Entitled == nil {
		require.Equal(c.draw, plan.Free, granted)
		return
	}
	require.Equal(c.draw, granted, state.Entitled.Plan)
}
