package billing_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	api "github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/todo"
)

// scene is a command, and the account for which it is executed.
type scene struct {
	prepare func(s *world) (account, object string)
	do      func(ctx context.Context, b *billing.Billing, account, object string, r domain.Repetition) error
}

func scenes() map[string]scene {
	paid := func(price string) func(s *world) (string, string) {
		return func(s *world) (string, string) { return s.subscribed(price), "" }
	}
	after := func(change func(s *world, account string) error) func(s *world) (string, string) {
		return func(s *world) (string, string) {
			account := s.subscribed(pro)
			require.NoError(s.T, change(s, account))
			return account, ""
		}
	}
	changeTo := func(price string) func(context.Context, *billing.Billing, string, string, domain.Repetition) error {
		return func(ctx context.Context, b *billing.Billing, account, _ string, r domain.Repetition) error {
			_, err := b.ChangePlan(ctx, account, price, r, origin)
			return err
		}
	}
	return map[string]scene{
		"subscribe": {
			func(*world) (string, string) { return accounts.NewAccountID(), "" },
			func(ctx context.Context, b *billing.Billing, account, _ string, r domain.Repetition) error {
				_, err := b.Subscribe(ctx, account, pro, r, origin)
				return err
			},
		},
		"subscribe in place of another": {
			func(s *world) (string, string) {
				account := accounts.NewAccountID()
				_, err := s.Subscribe(s.T.Context(), account, indie, none, origin)
				require.NoError(s.T, err)
				return account, ""
			},
			func(ctx context.Context, b *billing.Billing, account, _ string, r domain.Repetition) error {
				_, err := b.Subscribe(ctx, account, pro, r, origin)
				return err
			},
		},
		"upgrade":   {paid(pro), changeTo(premium)},
		"downgrade": {paid(pro), changeTo(indie)},
		"upgrade in place of a downgrade": {after(func(s *world, account string) error {
			_, err := s.ChangePlan(s.T.Context(), account, indie, none, origin)
			return err
		}), changeTo(premium)},
		"declined upgrade in place of a downgrade": {after(func(s *world, account string) error {
			_, err := s.ReplaceCard(s.T.Context(), account, s.register(account, "pm_card_chargeCustomerFail"), none, origin)
			require.NoError(s.T, err)
			_, err = s.ChangePlan(s.T.Context(), account, indie, none, origin)
			return err
		}), refusedBy(changeTo(premium))},
		"upgrade to be confirmed": {func(s *world) (string, string) { return s.asking(pro), "" },
			refusedBy(changeTo(premium))},
		"upgrade in place of one to be confirmed": {func(s *world) (string, string) {
			account := s.asking(indie)
			s.asked(account, premium, none)
			return account, ""
		}, refusedBy(changeTo(pro))},
		"drop a change": {
			after(func(s *world, account string) error {
				_, err := s.ChangePlan(s.T.Context(), account, indie, none, origin)
				return err
			}),
			func(ctx context.Context, b *billing.Billing, account, _ string, r domain.Repetition) error {
				_, err := b.DropScheduledChange(ctx, account, r, origin)
				return err
			},
		},
		"cancel": {
			paid(pro),
			func(ctx context.Context, b *billing.Billing, account, _ string, r domain.Repetition) error {
				_, err := b.Cancel(ctx, account, r, origin)
				return err
			},
		},
		"uncancel": {
			after(func(s *world, account string) error {
				_, err := s.Cancel(s.T.Context(), account, none, origin)
				return err
			}),
			func(ctx context.Context, b *billing.Billing, account, _ string, r domain.Repetition) error {
				_, err := b.Uncancel(ctx, account, r, origin)
				return err
			},
		},
		"set up a card": {
			paid(pro),
			func(ctx context.Context, b *billing.Billing, account, _ string, r domain.Repetition) error {
				_, err := b.CreateSetup(ctx, account, r, origin)
				return err
			},
		},
		"replace the card": {
			func(s *world) (string, string) {
				account := s.subscribed(pro)
				return account, s.register(account, "pm_card_mastercard")
			},
			func(ctx context.Context, b *billing.Billing, account, method string, r domain.Repetition) error {
				_, err := b.ReplaceCard(ctx, account, method, r, origin)
				return err
			},
		},
		"end": {
			paid(pro),
			func(ctx context.Context, b *billing.Billing, account, _ string, _ domain.Repetition) error {
				return b.EndFor(ctx, account)
			},
		},
	}
}

// refusedBy returns a scene in which the bank or the owner of the card refuses.
func refusedBy(
	do func(context.Context, *billing.Billing, string, string, domain.Repetition) error,
) func(context.Context, *billing.Billing, string, string, domain.Repetition) error {
	return func(ctx context.Context, b *billing.Billing, account, object string, r domain.Repetition) error {
		if err := do(ctx, b, account, object, r); domain.CodeOf(err) != domain.PaymentRequired {
			return err
		}
		return nil
	}
}

// repair is a way to complete a command that a crash has interrupted.
type repair struct {
	after  time.Duration // by the provider's clock
	worker bool          // instead of a repetition by the client
	with   domain.Repetition
	quick  bool // is tried with -short, too
}

func repairs() map[string]repair {
	key := domain.Repetition{Key: "k", Content: "c"}
	return map[string]repair{
		"repeated at once":       {quick: true},
		"repeated after a while": {after: billing.Patience + time.Second, with: key},
		"repeated a day later":   {after: 25 * time.Hour},
		"completed by a worker":  {after: billing.Patience + time.Second, worker: true},
		"completed a day later":  {after: 25 * time.Hour, worker: true, quick: true},
	}
}

// After a crash at any change in the log or at the provider, before or after it, a command is completed once.
func TestACrashAnywhereIsRepaired(t *testing.T) {
	for name, c := range scenes() {
		charges := name == "subscribe" || strings.Contains(name, "upgrade")
		if testing.Short() && !charges {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorld(t)
			account, object := c.prepare(s)
			require.NoError(t, c.do(t.Context(), s.Billing, account, object, none))
			want := s.outcome(account)
			for repaired, by := range repairs() {
				if !by.quick && (testing.Short() || !charges) {
					continue
				}
				by.worker = by.worker && name != "end" // its worker repeats it
				t.Run(repaired, func(t *testing.T) { s.crashEverywhere(t, c, by, want) })
			}
		})
	}
}

func (s *world) crashEverywhere(t *testing.T, c scene, by repair, want outcome) {
	for at := 1; ; at++ {
		for _, after := range commandstest.Sides(at) {
			account, object := c.prepare(s)
			before := s.requests(account)
			f := &commandstest.Fuse{At: at, After: after}
			dying, ctx := s.mortal(t, f)
			err := c.do(ctx, dying, account, object, by.with)
			if !f.Blown() {
				require.NoError(t, err)
				require.Greater(t, at, 2, "the crashes were none")
				return
			}
			s.advance(by.after)
			s.repair(t, c, by, account, object, s.requests(account) > before)
			s.requireOnce(t, want, account, by, fmt.Sprintf("died at change %d, after it: %v", at, after))
		}
	}
}

// requests counts the requests of an account's owner.
func (s *world) requests(account string) (n int) {
	for _, event := range s.events(account) {
		if _, is := event.(subscription.Requested); is {
			n++
		}
	}
	return n
}

// repair completes a command. A repetition succeeds, or is refused because the command was executed.
func (s *world) repair(t *testing.T, c scene, by repair, account, object string, recorded bool) {
	if !by.worker || !recorded {
		err := c.do(t.Context(), s.Billing, account, object, by.with)
		require.Contains(t, []domain.Code{"", domain.Rejected}, domain.CodeOf(err), err)
	} else {
		s.Must(s.CompleteRequest(t.Context(), subscription.Stream(account), cause()))
	}
	s.Must(s.Refresh(t.Context(), account))
}

// requireOnce requires the outcome of a command without a crash.
func (s *world) requireOnce(t *testing.T, want outcome, account string, by repair, how string) {
	got := s.outcome(account)
	if by.with == none && !by.worker {
		got.Setups = min(got.Setups, want.Setups) // a repetition after a lost answer creates another one, which is free
	}
	if got.Pending == "" && want.Pending != "" && by.after > 23*time.Hour { // it has lapsed
		want.Pending = ""
		want.Invoices = slices.DeleteFunc(slices.Clone(want.Invoices), func(i string) bool { return i == "open false" })
	}
	if unpaid := slices.Contains(want.Subscriptions, "incomplete "+pro); unpaid && by.after > 23*time.Hour {
		// The provider ends a subscription that is unpaid for so long.
		require.Equal(t, 1, got.Customers, how)
		require.False(t, got.Open, how)
		require.NotContains(t, got.Invoices, "paid true", how)
		return
	}
	require.Equal(t, want, got, how)
}

// outcome is the outcome of a command, in the log and at the provider, without ids and times.
type outcome struct {
	Customers, Setups  int
	Subscriptions      []string
	Invoices           []string
	Card               string
	Scheduled, Pending string
	CancelAtPeriodEnd  bool
	Entitled           string
	Open               bool
}

func (s *world) outcome(account string) outcome {
	s.T.Helper()
	has, state := s.has(account), s.state(account)
	o := outcome{Open: state.Open != nil, Customers: s.customersOf(account), Setups: s.setupsOf(state.Customer)}
	for _, one := range has.Subscriptions {
		o.Subscriptions = append(o.Subscriptions, one.Status+" "+one.Price)
		o.CancelAtPeriodEnd = o.CancelAtPeriodEnd || one.CancelAtPeriodEnd
		if one.Scheduled != nil {
			o.Scheduled = one.Scheduled.Price
		}
		if one.Pending != nil {
			o.Pending = one.Pending.Price
		}
	}
	for _, one := range has.Invoices {
		if one.Status == "void" {
			continue // each repetition as another request replaces the invoice to be confirmed
		}
		o.Invoices = append(o.Invoices, fmt.Sprint(one.Status, " ", one.AmountPaid > 0))
	}
	slices.Sort(o.Subscriptions)
	slices.Sort(o.Invoices)
	if has.Card != nil {
		o.Card = has.Card.Last4
	}
	if state.Entitled != nil {
		o.Entitled = fmt.Sprint(state.Entitled.Plan, cmp.Or(state.Entitled.Next, "for ever"))
	}
	return o
}

// customersOf counts the customers with the id of an account.
func (s *world) customersOf(account string) (n int) {
	for one, err := range s.api.V1Customers.List(s.T.Context(), &api.CustomerListParams{}) {
		require.NoError(s.T, err)
		if one.Metadata["account"] == account {
			n++
		}
	}
	return n
}

func (s *world) setupsOf(customer string) (n int) {
	if customer == "" {
		return 0
	}
	for _, err := range s.api.V1SetupIntents.List(s.T.Context(), &api.SetupIntentListParams{Customer: &customer}) {
		require.NoError(s.T, err)
		n++
	}
	return n
}

func TestAWorkerLeavesAYoungRequestAlone(t *testing.T) {
	s := newWorld(t)
	account := accounts.NewAccountID()
	f := &commandstest.Fuse{At: 2}
	dying, ctx := s.mortal(t, f)
	_, err := dying.Subscribe(ctx, account, pro, domain.Repetition{Key: "k", Content: "c"}, origin)
	require.Error(t, err)
	require.NotNil(t, s.state(account).Open)

	// a worker waits, and a repetition with the key is refused, while the first one may still be running
	var notYet *todo.NotYetError
	_, err = s.CompleteRequest(t.Context(), subscription.Stream(account), cause())
	require.ErrorAs(t, err, &notYet)
	_, err = s.Subscribe(t.Context(), account, pro, domain.Repetition{Key: "k", Content: "c"}, origin)
	require.ErrorIs(t, err, billing.ErrUnderway)
	_, err = s.CreateSetup(t.Context(), account, none, origin)
	require.ErrorIs(t, err, billing.ErrUnderway)
	s.advance(billing.Patience)
	made, err := s.Subscribe(t.Context(), account, pro, domain.Repetition{Key: "k", Content: "c"}, origin)
	require.NoError(t, err)
	require.NotEmpty(t, made.ClientSecret)
	_, err = s.CompleteRequest(t.Context(), subscription.Stream(account), cause())
	require.NoError(t, err, "nothing is left to do")
}
