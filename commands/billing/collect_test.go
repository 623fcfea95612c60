package billing_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	api "github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
)

// owing returns an account with an unpaid last period: its subscription has ended, and its card is declined.
func (s *world) owing() (account string) {
	s.T.Helper()
	account = s.subscribed(pro)
	s.Must(s.ReplaceCard(s.T.Context(), account, s.register(account, "pm_card_chargeCustomerFail"), none, origin))
	s.Must(s.Cancel(s.T.Context(), account, none, origin))
	s.advance(32*24*time.Hour, account)
	s.Periods = s.over(account, plan.Pro, 112_000)
	s.Must(s.BillOverage(s.T.Context(), "usage-"+account, 3, cause()))
	s.advance(2*time.Hour, account)
	s.advance(20*24*time.Hour, account)
	require.Equal(s.T, "open, 4 attempts", s.lastInvoice(account))
	return account
}

func (s *world) lastInvoice(account string) string {
	for _, i := range s.has(account).Invoices {
		if i.AmountDue == 504 {
			return fmt.Sprintf("%s, %d attempts", i.Status, i.Attempts)
		}
	}
	return "none"
}

// chargedFor returns the number of charges of an amount to an account.
func (s *world) chargedFor(account string, amount int64) (times int) {
	for c, err := range s.api.V1Charges.List(s.T.Context(),
		&api.ChargeListParams{Customer: new(s.state(account).Customer)}) {
		require.NoError(s.T, err)
		if c.Paid && c.Amount == amount {
			times++
		}
	}
	return times
}

func TestAnInvoiceThatIsNotPaidIsAnAlertAndPaidByANewCard(t *testing.T) {
	s := newWorld(t)
	account := s.owing()
	unpaid := s.has(account).Invoices[0].ID
	require.Len(t, s.alerts(alert.Uncollected), 1)
	require.Equal(t, unpaid, s.alerts(alert.Uncollected)[0].Subject)
	require.True(t, slices.ContainsFunc(s.events(account), func(e subscription.Event) bool {
		failed, is := e.(subscription.PaymentFailed)
		return is && failed.Invoice == unpaid && failed.Attempts == 4
	}))

	s.Must(s.ReplaceCard(t.Context(), account, s.register(account, "pm_card_mastercard"), none, origin))
	require.Equal(t, "paid, 5 attempts", s.lastInvoice(account))
	s.advance(40*24*time.Hour, account)
	require.Equal(t, 1, s.chargedFor(account, 504))
}

// While the alert cannot be raised, a failed payment is not recorded, so that it is found again.
func TestNoCrashSwallowsTheAlertOfAnInvoice(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	require.NoError(t, s.sandbox.FailNextPayment(s.state(account).Customer))
	s.Periods = s.over(account, plan.Pro, 112_000)
	s.Must(s.BillOverage(t.Context(), "usage-a-1", 3, cause()))
	s.deaf = true
	s.advance(2 * time.Hour)
	_, err := s.Refresh(t.Context(), account)
	require.ErrorIs(t, err, errDeaf)
	s.deaf = false
	for range 2 {
		s.Must(s.Refresh(t.Context(), account))
	}
	require.Len(t, s.alerts(alert.Uncollected), 1)
	require.Equal(t, s.has(account).Invoices[0].ID, s.alerts(alert.Uncollected)[0].Subject)
}

// After a crash at any change while a new card or a new subscription pays for the last period, the period is paid once.
func TestWhatIsOwedIsCollectedOnce(t *testing.T) {
	s := newWorld(t)
	type attempt = func(t *testing.T, f *commandstest.Fuse) bool
	for name, collect := range map[string]func(b *billing.Billing, account string) attempt{
		"by a new card":         s.byCard,
		"by a new subscription": s.bySubscription,
	} {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at++ {
				whole := false
				for _, after := range commandstest.Sides(at) {
					account := s.owing()
					whole = collect(s.Billing, account)(t, &commandstest.Fuse{At: at, After: after})
					s.advance(40*24*time.Hour, account)
					require.Equal(t, 1, s.chargedFor(account, 504), "died at %d, after it: %v", at, after)
				}
				if whole {
					require.Greater(t, at, 2, "the crashes were none")
					return
				}
			}
		})
	}
}

func (s *world) byCard(b *billing.Billing, account string) func(t *testing.T, f *commandstest.Fuse) bool {
	method := s.register(account, "pm_card_mastercard")
	return func(t *testing.T, f *commandstest.Fuse) bool {
		dying, ctx := s.mortal(t, f)
		_, err := dying.ReplaceCard(ctx, account, method, domain.Repetition{}, origin)
		if !f.Blown() {
			require.NoError(t, err)
			return true
		}
		s.advance(billing.Patience + time.Second)
		s.Must(b.ReplaceCard(t.Context(), account, method, domain.Repetition{}, origin))
		return false
	}
}

func (s *world) bySubscription(b *billing.Billing, account string) func(t *testing.T, f *commandstest.Fuse) bool {
	made, err := b.Subscribe(s.T.Context(), account, indie, none, origin)
	require.NoError(s.T, err)
	s.pay(made, "pm_card_visa")
	s.advance(time.Second, account)
	stream, paid := subscription.Stream(account), cause()
	return func(t *testing.T, f *commandstest.Fuse) bool {
		dying, ctx := s.mortal(t, f)
		_, err := dying.Collect(ctx, stream, paid)
		if f.Blown() {
			require.Error(t, err)
			_, err = b.Collect(t.Context(), stream, paid)
		}
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(s.events(account), func(e subscription.Event) bool {
			done, is := e.(subscription.Collected)
			return is && done.Event == paid.String()
		}))
		return !f.Blown()
	}
}

// An amount that is too small for an invoice goes on the next one. After the last one it is recorded as lost, once,
// after a crash at any change, and is not collected later.
func TestWhatIsTooLittleForAnInvoiceIsALoss(t *testing.T) {
	s := newWorld(t)
	for at := 1; ; at++ {
		for _, after := range commandstest.Sides(at) {
			account := s.subscribed(pro)
			s.Must(s.Cancel(t.Context(), account, none, origin))
			closed := s.sandbox.Now()
			bill := func(ctx context.Context, b *billing.Billing, version int64) error {
				b.Periods = &books{over: ledger.PeriodOverage{Account: account, Plan: plan.Pro, Characters: 5_000, At: closed}}
				_, err := b.BillOverage(ctx, "usage-"+account, version, cause())
				return err
			}
			require.NoError(t, bill(t.Context(), s.Billing, 1))
			require.Empty(t, s.losses(account), "another invoice may come")
			s.advance(32*24*time.Hour, account)

			f := &commandstest.Fuse{At: at, After: after}
			dying, ctx := s.mortal(t, f)
			err := bill(ctx, dying, 2)
			if f.Blown() {
				require.Error(t, err)
				s.advance(25 * time.Hour)
				err = bill(t.Context(), s.Billing, 2)
			}
			require.NoError(t, err)
			s.Must(s.Collect(t.Context(), subscription.Stream(account), cause()))
			require.ElementsMatch(t, []string{"usage-" + account + "/1", "usage-" + account + "/2"}, s.losses(account))
			require.Empty(t, s.items(account))
			if !f.Blown() {
				require.Greater(t, at, 4, "the crashes were none")
				return
			}
		}
	}
}

// Items on the invoice of a new subscription that is never paid become void, and are recorded as lost, once.
func TestWhatIsOnAVoidInvoiceIsALoss(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	s.Must(s.Cancel(t.Context(), account, none, origin))
	s.Periods = s.over(account, plan.Pro, 5_000)
	s.Must(s.BillOverage(t.Context(), "usage-"+account, 1, cause()))
	s.advance(31*24*time.Hour, account)
	s.Must(s.Subscribe(t.Context(), account, indie, none, origin))
	require.Equal(t, int64(1022), s.has(account).Invoices[0].AmountDue)
	s.advance(25*time.Hour, account)
	require.Equal(t, "void", s.has(account).Invoices[0].Status)

	for range 2 {
		s.Must(s.Collect(t.Context(), subscription.Stream(account), cause()))
	}
	var losses []subscription.Lost
	for _, event := range s.events(account) {
		if lost, is := event.(subscription.Lost); is {
			losses = append(losses, lost)
		}
	}
	require.Len(t, losses, 1)
	require.Equal(t, subscription.Lost{Account: account, Object: "usage-" + account + "/1", Reason: subscription.Voided,
		Characters: 5_000, Amount: 22, Currency: "usd", At: losses[0].At}, losses[0])
}

// losses returns the recorded losses.
func (s *world) losses(account string) (usages []string) {
	for _, event := range s.events(account) {
		if lost, is := event.(subscription.Lost); is {
			require.Equal(s.T, subscription.Lost{
				Account: account, Object: lost.Object, Reason: subscription.BelowMinimum, Characters: 5_000, Amount: 22,
				Currency: "usd", At: lost.At,
			}, lost)
			usages = append(usages, lost.Object)
		}
	}
	return usages
}
