package billing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	api "github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/account"
	ledgerevents "github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// closingWorld is a world with accounts and ledgers, on the provider's clock.
type closingWorld struct {
	*world
	accounts *accounts.Accounts
	ledger   *ledger.Ledger
}

func newClosingWorld(t testing.TB) *closingWorld {
	t.Helper()
	h := &closingWorld{world: newWorld(t)}
	h.accounts = accounts.New(h.Journal, h.sandbox.Now)
	h.ledger = h.keeper(h.Log)
	h.Periods = h.ledger
	return h
}

func (h *closingWorld) keeper(log eventlog.Log) *ledger.Ledger {
	h.T.Helper()
	j := &journal.Journal{Log: log, Registry: h.Journal.Registry}
	keeper := ledger.New(j, accounts.New(j, h.sandbox.Now), h.sandbox.Now, commandstest.Longest)
	h.T.Cleanup(keeper.Close)
	return keeper
}

// speaker returns an account that bought indie and used more characters than it includes.
func (h *closingWorld) speaker(past int64) (id string) {
	h.T.Helper()
	opened, err := h.accounts.Open(h.T.Context(), "free", commandstest.Operator())
	require.NoError(h.T, err)
	id = opened.Account
	made, err := h.Subscribe(h.T.Context(), id, indie, none, origin)
	require.NoError(h.T, err)
	h.pay(made, "pm_card_visa")
	h.Must(h.Refresh(h.T.Context(), id))
	h.follow(id)
	limit, err := plan.Lookup(plan.Indie)
	require.NoError(h.T, err)
	h.speak(id, limit.Characters+past)
	return id
}

// follow makes account and ledger follow the subscription.
func (h *closingWorld) follow(id string) {
	h.T.Helper()
	h.Must(h.accounts.FollowSubscription(h.T.Context(), account.Stream(id)))
	h.Must(h.ledger.FollowEntitlement(h.T.Context(), id, cause()))
}

func (h *closingWorld) speak(id string, characters int64) {
	h.T.Helper()
	r, err := h.ledger.Reserve(h.T.Context(), id, characters, origin)
	require.NoError(h.T, err)
	h.Must(h.ledger.Settle(h.T.Context(), r, characters))
}

// close closes an account, and executes the due steps on one instance.
func (h *closingWorld) close(id string) {
	h.T.Helper()
	h.Must(h.accounts.Close(h.T.Context(), id, origin))
}

// goOn executes the due steps of a closing on an instance.
func (h *closingWorld) goOn(ctx context.Context, b *billing.Billing, a *accounts.Accounts, id string) error {
	_, err := a.GoOn(ctx, id, cause(), h.sandbox.Now(), accounts.Closing{
		End: b.EndFor, Patience: time.Hour, Erase: h.keys.Erase, Longest: commandstest.Longest,
	})
	return err
}

// requireOver requires that a closed account has no data left, and returns its last invoice and the losses.
func (h *closingWorld) requireOver(id, customer string, msg ...any) (payments.Invoice, []subscription.Lost) {
	h.T.Helper()
	require.Equal(h.T, account.ErasedOnce, h.Account(id).Closing, msg...)
	state := h.state(id)
	require.Empty(h.T, state.Customer, msg...)
	require.Empty(h.T, state.Unfinished(), msg...)
	has, err := h.Gateway.Billing(h.T.Context(), customer)
	require.NoError(h.T, err)
	require.True(h.T, has.Deleted, msg...)
	require.Nil(h.T, has.Card, msg...)
	require.Equal(h.T, "canceled", has.Subscriptions[0].Status, msg...)
	_, err = h.keys.Seal(h.T.Context(), id, []byte("x"), "use")
	require.ErrorIs(h.T, err, keyring.ErrErased, msg...)
	var lost []subscription.Lost
	for _, event := range h.events(id) {
		if l, is := event.(subscription.Lost); is {
			lost = append(lost, l)
		}
	}
	for _, i := range has.Invoices {
		require.NotEqual(h.T, "open", i.Status, msg...)
	}
	return has.Invoices[0], lost
}

func TestAClosedAccountPaysForWhatItHasUsed(t *testing.T) {
	h := newClosingWorld(t)
	id := h.speaker(10_000)
	customer := h.state(id).Customer
	h.close(id)
	require.NoError(t, h.goOn(t.Context(), h.Billing, h.accounts, id))
	last, lost := h.requireOver(id, customer)
	require.Equal(t, "paid", last.Status)
	require.EqualValues(t, 50, last.AmountPaid, "10 full units of 5 cents")
	require.Empty(t, lost)
	h.requireBilledOnce(id, customer)

	// a repetition, after the end of all requests, has no effect
	h.advance(commandstest.Longest)
	require.NoError(t, h.goOn(t.Context(), h.Billing, h.accounts, id))
	require.Equal(t, account.ErasedForAll, h.Account(id).Closing)
	h.requireBilledOnce(id, customer)

	// and a late notice is handled
	e := payments.Event{ID: "evt_late", Type: "invoice.paid", Object: last.ID, Customer: customer,
		CreatedAt: h.sandbox.Now()}
	h.Must(h.RecordNotice(t.Context(), e, false))
	h.Must(h.HandleNotice(t.Context(), "payment-evt_late", cause()))
}

// requireBilledOnce requires that each overage is one item of one invoice.
func (h *closingWorld) requireBilledOnce(id, customer string, msg ...any) {
	h.T.Helper()
	var billed []ledgerevents.OverageBilled
	for _, event := range commandstest.Fold[ledgerevents.Event](h.World, h.period(id)) {
		if e, is := event.(ledgerevents.OverageBilled); is {
			billed = append(billed, e)
		}
	}
	require.Len(h.T, billed, 1, msg...)
	has, err := h.Gateway.Billing(h.T.Context(), customer)
	require.NoError(h.T, err)
	require.Len(h.T, has.Invoices, 2, msg...)
}

// period returns the stream of an account's current period.
func (h *closingWorld) period(id string) string {
	return ledgerevents.Stream(id, h.Account(id).Entitlement.At(h.sandbox.Now()).Start)
}

func TestWhatAClosedAccountDoesNotPayIsLost(t *testing.T) {
	h := newClosingWorld(t)
	id := h.speaker(100_000)
	customer := h.state(id).Customer
	require.NoError(t, h.sandbox.FailNextPayment(customer))
	h.close(id)
	require.NoError(t, h.goOn(t.Context(), h.Billing, h.accounts, id))
	last, lost := h.requireOver(id, customer)
	require.Equal(t, "uncollectible", last.Status)
	require.Len(t, lost, 1)
	require.Equal(t, last.ID, lost[0].Object)
	require.Equal(t, subscription.Uncollectible, lost[0].Reason)
	require.EqualValues(t, 500, lost[0].Amount)
	h.requireBilledOnce(id, customer)
}

func TestWhatIsTooLittleForAnInvoiceIsLostWithTheCustomer(t *testing.T) {
	h := newClosingWorld(t)
	id := h.speaker(5_000)
	customer := h.state(id).Customer
	h.close(id)
	require.NoError(t, h.goOn(t.Context(), h.Billing, h.accounts, id))
	_, lost := h.requireOver(id, customer)
	require.Len(t, lost, 1)
	require.Equal(t, subscription.BelowMinimum, lost[0].Reason)
	require.EqualValues(t, 25, lost[0].Amount)
	require.EqualValues(t, 5_000, lost[0].Characters)
}

func TestWhatTheCustomersBalanceHasTakenIsLostWithTheCustomer(t *testing.T) {
	h := newClosingWorld(t)
	id := h.speaker(0)
	customer := h.state(id).Customer
	_, err := h.api.V1InvoiceItems.Create(t.Context(), &api.InvoiceItemCreateParams{
		Customer: &customer, Amount: new(int64(25)), Currency: new("usd"),
	})
	require.NoError(t, err)
	small, err := h.api.V1Invoices.Create(t.Context(), &api.InvoiceCreateParams{
		Customer: &customer, PendingInvoiceItemsBehavior: new("include"),
	})
	require.NoError(t, err)
	h.Must(h.api.V1Invoices.FinalizeInvoice(t.Context(), small.ID, nil))

	h.close(id)
	require.NoError(t, h.goOn(t.Context(), h.Billing, h.accounts, id))
	_, lost := h.requireOver(id, customer)
	require.Len(t, lost, 1)
	require.Equal(t, customer, lost[0].Object)
	require.Equal(t, subscription.BelowMinimum, lost[0].Reason)
	require.EqualValues(t, 25, lost[0].Amount)
}

func TestAClosingWaitsForReplies(t *testing.T) {
	h := newClosingWorld(t)
	id := h.speaker(0)
	customer := h.state(id).Customer
	r, err := h.ledger.Reserve(t.Context(), id, 20_000, origin)
	require.NoError(t, err)
	h.close(id)
	var notYet *todo.NotYetError
	require.ErrorAs(t, h.goOn(t.Context(), h.Billing, h.accounts, id), &notYet)
	require.Len(t, h.has(id).Invoices, 1)

	// no further reservation is made, even by an instance that has cached the account
	_, err = h.ledger.Reserve(t.Context(), id, 1, origin)
	require.ErrorIs(t, err, account.ErrNoAccount)
	h.Must(h.ledger.Settle(t.Context(), r, 15_000))
	require.NoError(t, h.goOn(t.Context(), h.Billing, h.accounts, id))
	last, _ := h.requireOver(id, customer)
	require.EqualValues(t, 75, last.AmountPaid)
}

func TestAClosingGoesOnWhenTheProviderIsBack(t *testing.T) {
	h := newClosingWorld(t)
	id := h.speaker(10_000)
	customer := h.state(id).Customer
	h.close(id)
	away := h.instance(h.Log, h.gateway("http://127.0.0.1:1"), "")
	away.Periods = h.Periods
	var notYet *todo.NotYetError
	require.ErrorAs(t, h.goOn(t.Context(), away, h.accounts, id), &notYet)
	sealed, err := h.keys.Seal(t.Context(), id, []byte("x"), "use")
	require.NoError(t, err)
	require.NotEmpty(t, sealed)

	// the erasure of the key does not wait forever
	_, err = h.accounts.GoOn(t.Context(), id, cause(), h.sandbox.Now().Add(-2*time.Hour), accounts.Closing{
		End: away.EndFor, Patience: time.Hour, Erase: h.keys.Erase, Longest: commandstest.Longest,
	})
	require.ErrorAs(t, err, &notYet)
	_, err = h.keys.Seal(t.Context(), id, []byte("x"), "use")
	require.ErrorIs(t, err, keyring.ErrErased)

	// and the usage is paid nevertheless
	require.NoError(t, h.goOn(t.Context(), h.Billing, h.accounts, id))
	last, _ := h.requireOver(id, customer)
	require.Equal(t, "paid", last.Status)
	h.requireBilledOnce(id, customer)
}

// A closing survives a crash at any change in the log or at the provider, before or after it.
func TestAClosingSurvivesAKillBetweenAnySteps(t *testing.T) {
	for name, declines := range map[string]bool{"paid": false, "declined": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newClosingWorld(t)
			for at := 1; ; at++ {
				if !h.closeDyingAt(t, at, declines) {
					require.Greater(t, at, 8, "the steps are fewer than they should be")
					return
				}
			}
		})
	}
}

// closeDyingAt closes accounts with a first instance that crashes at a change. It reports whether there are that many
// changes.
func (h *closingWorld) closeDyingAt(t *testing.T, at int, declines bool) bool {
	for _, after := range commandstest.Sides(at) {
		how := fmt.Sprintf("died at change %d, after it: %v", at, after)
		id := h.speaker(10_000)
		customer := h.state(id).Customer
		if declines {
			require.NoError(t, h.sandbox.FailNextPayment(customer))
		}
		h.close(id)
		f := &commandstest.Fuse{At: at, After: after}
		dying, ctx := h.mortal(t, f)
		mortal := commandstest.MortalLog{Log: h.Log, Fuse: f}
		dying.Periods = h.keeper(mortal)
		j := &journal.Journal{Log: mortal, Registry: h.Journal.Registry}
		err := h.goOn(ctx, dying, accounts.New(j, h.sandbox.Now), id)
		if !f.Blown() {
			require.NoError(t, err)
			return false
		}
		require.NoError(t, h.goOnUntilDone(t, id), how)
		last, lost := h.requireOver(id, customer, how)
		if declines {
			require.Equal(t, "uncollectible", last.Status, how)
			require.Len(t, lost, 1, how)
		} else {
			require.Equal(t, "paid", last.Status, how)
			require.EqualValues(t, 50, last.AmountPaid, how)
			require.Empty(t, lost, how)
		}
		h.requireBilledOnce(id, customer, how)
	}
	return true
}

// goOnUntilDone executes a closing like a worker.
func (h *closingWorld) goOnUntilDone(t *testing.T, id string) error {
	var err error
	for range 100 {
		var notYet *todo.NotYetError
		err = h.goOn(t.Context(), h.Billing, h.accounts, id)
		if !errors.As(err, &notYet) && (err == nil || !strings.Contains(err.Error(), "under way")) {
			return err
		}
	}
	return err
}
