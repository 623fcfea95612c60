package billing_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

func TestTheLifeOfASubscription(t *testing.T) {
	s := newWorld(t)
	account := accounts.NewAccountID()

	// a subscription waits for its payment
	made, err := s.Subscribe(t.Context(), account, pro, none, origin)
	require.NoError(t, err)
	require.NotEmpty(t, made.ClientSecret)
	require.EqualValues(t, 4900, made.Amount)
	require.Equal(t, "usd", made.Currency)
	require.Nil(t, s.state(account).Entitled)

	// until it is paid, the same one is returned
	again, err := s.Subscribe(t.Context(), account, pro, none, origin)
	require.NoError(t, err)
	require.Equal(t, made.Subscription, again.Subscription)
	require.Equal(t, made.ClientSecret, again.ClientSecret)

	// it is paid, and the account is entitled to its plan
	s.pay(made, "pm_card_visa")
	s.Must(s.Refresh(t.Context(), account))
	has := s.has(account).Subscriptions[0]
	require.Equal(t, &plan.Entitlement{Plan: plan.Pro, Start: has.PeriodStart, End: has.PeriodEnd, Next: plan.Pro,
		Anchor: has.Anchor}, s.state(account).Entitled)
	_, err = s.Subscribe(t.Context(), account, pro, none, origin)
	require.Equal(t, domain.Rejected, domain.CodeOf(err))

	// its card in the log is sealed
	card := s.state(account).Card
	require.NotNil(t, card)
	require.NotContains(t, string(card.Brand), "visa")
	require.NotContains(t, string(card.Last4), "4242")

	// an upgrade is charged immediately
	changed, err := s.ChangePlan(t.Context(), account, premium, none, origin)
	require.NoError(t, err)
	require.False(t, changed.Downgrade)
	require.Equal(t, plan.Premium, s.state(account).Entitled.Plan)
	require.Len(t, s.has(account).Invoices, 2)

	// a downgrade is scheduled, and can be dropped
	changed, err = s.ChangePlan(t.Context(), account, indie, none, origin)
	require.NoError(t, err)
	require.Equal(t, billing.PlanChange{Downgrade: true, EffectiveAt: has.PeriodEnd, Position: changed.Position}, changed)
	require.Equal(t, plan.Indie, s.state(account).Entitled.Next)
	s.Must(s.DropScheduledChange(t.Context(), account, none, origin))
	require.Equal(t, plan.Premium, s.state(account).Entitled.Next)
	_, err = s.DropScheduledChange(t.Context(), account, none, origin)
	require.Equal(t, domain.Rejected, domain.CodeOf(err))

	// it is scheduled again, and takes effect with the next period
	s.Must(s.ChangePlan(t.Context(), account, indie, none, origin))
	s.advance(has.PeriodEnd.Sub(s.sandbox.Now())+time.Hour, account)
	require.Equal(t, plan.Indie, s.state(account).Entitled.Plan)
	require.True(t, has.PeriodEnd.Equal(s.state(account).Entitled.Start))

	// it is cancelled, resumed, cancelled again, and ends with the period
	next := s.has(account).Subscriptions[0].PeriodEnd
	cancelled, err := s.Cancel(t.Context(), account, none, origin)
	require.NoError(t, err)
	require.Equal(t, next, cancelled.At)
	require.Equal(t, plan.Free, s.state(account).Entitled.Next)
	_, err = s.Cancel(t.Context(), account, none, origin)
	require.Equal(t, domain.Rejected, domain.CodeOf(err))
	s.Must(s.Uncancel(t.Context(), account, none, origin))
	require.Equal(t, plan.Indie, s.state(account).Entitled.Next)
	_, err = s.Uncancel(t.Context(), account, none, origin)
	require.Equal(t, domain.Rejected, domain.CodeOf(err))
	s.Must(s.Cancel(t.Context(), account, none, origin))
	s.advance(next.Sub(s.sandbox.Now())+time.Hour, account)
	require.Equal(t, &plan.Entitlement{Plan: plan.Free, Start: next}, s.state(account).Entitled)
}

func TestACardIsReplaced(t *testing.T) {
	s := newWorld(t)
	account, other := s.subscribed(pro), s.subscribed(indie)
	setup, err := s.CreateSetup(t.Context(), account, none, origin)
	require.NoError(t, err)
	require.NotEmpty(t, setup.ClientSecret)

	// another account's payment method is refused, and so is an unknown one
	for _, method := range []string{s.register(other, "pm_card_mastercard"), "pm_1234"} {
		_, err = s.ReplaceCard(t.Context(), account, method, none, origin)
		require.Equal(t, domain.NotFound, domain.CodeOf(err))
		require.Nil(t, s.state(account).Open)
	}

	method := s.register(account, "pm_card_mastercard")
	card, err := s.ReplaceCard(t.Context(), account, method, domain.Repetition{Key: "k", Content: "c"}, origin)
	require.NoError(t, err)
	require.Equal(t, "mastercard", card.Brand)
	require.Equal(t, "4444", card.Last4)
	require.Equal(t, method, s.state(account).Card.PaymentMethod)

	again, err := s.ReplaceCard(t.Context(), account, method, domain.Repetition{Key: "k", Content: "c"}, origin)
	require.NoError(t, err)
	require.Equal(t, card.Last4, again.Last4)
}

func TestAnUpgradeThatCannotBePaidChangesNothing(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	s.Must(s.ChangePlan(t.Context(), account, indie, none, origin))
	before := s.state(account)
	require.NoError(t, s.sandbox.FailNextPayment(before.Customer))

	key := domain.Repetition{Key: "k", Content: "c"}
	for range 2 { // including a repetition with its key
		_, err := s.ChangePlan(t.Context(), account, premium, key, origin)
		require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
	}
	require.Equal(t, before.Entitled, s.state(account).Entitled)
	has := s.has(account).Subscriptions[0]
	require.Equal(t, pro, has.Price)
	require.NotNil(t, has.Scheduled, "the account is not renewed at what it did not want")
	require.Equal(t, indie, has.Scheduled.Price)

	// another attempt is another request
	s.Must(s.ChangePlan(t.Context(), account, premium, none, origin))
	require.Equal(t, plan.Premium, s.state(account).Entitled.Plan)
	require.Nil(t, s.has(account).Subscriptions[0].Scheduled)
}

// asking returns an account with a paid subscription and a card that asks for confirmation at each payment.
func (s *world) asking(price string) (account string) {
	s.T.Helper()
	account = accounts.NewAccountID()
	made, err := s.Subscribe(s.T.Context(), account, price, none, origin)
	require.NoError(s.T, err)
	s.pay(made, "pm_card_authenticationRequired")
	require.NoError(s.T, s.sandbox.Authenticate(made.ClientSecret, true))
	s.Must(s.Refresh(s.T.Context(), account))
	return account
}

// asked requires that an upgrade waits for its confirmation, and returns the client secret.
func (s *world) asked(account, price string, r domain.Repetition) (secret string) {
	s.T.Helper()
	_, err := s.ChangePlan(s.T.Context(), account, price, r, origin)
	require.Equal(s.T, domain.PaymentRequired, domain.CodeOf(err))
	var declined *billing.DeclinedError
	require.ErrorAs(s.T, err, &declined)
	require.Equal(s.T, "authentication_required", declined.Code)
	require.NotEmpty(s.T, declined.ClientSecret)
	return declined.ClientSecret
}

func (s *world) pendingOf(account string) *subscription.Pending {
	current, _ := s.state(account).Current()
	return current.Pending
}

func TestAnUpgradeIsMadeOnceTheOwnerOfTheCardHasConfirmedIt(t *testing.T) {
	s := newWorld(t)
	account := s.asking(pro)
	s.Must(s.ChangePlan(t.Context(), account, indie, none, origin))
	before := s.state(account).Entitled

	// until then the plan is unchanged, and a repetition returns the same secret
	key := domain.Repetition{Key: "k", Content: "c"}
	secret := s.asked(account, premium, key)
	require.Equal(t, secret, s.asked(account, premium, key))
	require.Equal(t, before, s.state(account).Entitled)
	require.Equal(t, indie, s.has(account).Subscriptions[0].Scheduled.Price)
	require.Equal(t, premium, s.pendingOf(account).Price)
	require.WithinDuration(t, s.sandbox.Now().Add(23*time.Hour), s.pendingOf(account).ExpiresAt, time.Minute)

	// after it, the earlier downgrade is dropped, because the upgrade was requested later
	require.NoError(t, s.sandbox.Authenticate(secret, true))
	s.Must(s.Refresh(t.Context(), account))
	require.Equal(t, plan.Premium, s.state(account).Entitled.Plan)
	require.Equal(t, plan.Premium, s.state(account).Entitled.Next)
	require.Nil(t, s.pendingOf(account))
	require.Nil(t, s.has(account).Subscriptions[0].Scheduled)
	require.Equal(t, secret, s.asked(account, premium, key), "the answer stays the same")
}

func TestAnUpgradeThatNobodyConfirmsLapses(t *testing.T) {
	s := newWorld(t)
	account := s.asking(indie)
	before := s.state(account)

	// another upgrade replaces it
	first := s.asked(account, pro, none)
	second := s.asked(account, premium, none)
	require.NotEqual(t, first, second)
	require.Error(t, s.sandbox.Authenticate(first, true))
	require.Equal(t, premium, s.pendingOf(account).Price)

	// a refusal has no effect
	require.Error(t, s.sandbox.Authenticate(second, false))
	s.advance(0, account)
	require.Equal(t, before.Entitled, s.state(account).Entitled)

	s.advance(23*time.Hour+time.Minute, account)
	require.Nil(t, s.pendingOf(account))
	require.Equal(t, before.Entitled, s.state(account).Entitled)
	require.Equal(t, indie, s.has(account).Subscriptions[0].Price)

	// a downgrade after the upgrade stays, even if the upgrade is confirmed
	account = s.asking(pro)
	secret := s.asked(account, premium, none)
	s.Must(s.ChangePlan(t.Context(), account, indie, none, origin))
	require.NoError(t, s.sandbox.Authenticate(secret, true))
	s.advance(0, account)
	require.Equal(t, plan.Premium, s.state(account).Entitled.Plan)
	require.Equal(t, plan.Indie, s.state(account).Entitled.Next)
}

func TestADeclineHasACodeAndASentence(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(indie)
	require.NoError(t, s.sandbox.FailNextPayment(s.state(account).Customer))
	_, err := s.ChangePlan(t.Context(), account, pro, none, origin)
	var declined *billing.DeclinedError
	require.ErrorAs(t, err, &declined)
	require.Equal(t, "generic_decline", declined.Code)
	require.Equal(t, "The payment was declined: use another card, or ask the bank", declined.Error())
	require.Empty(t, declined.ClientSecret)
}

func TestANewPriceWhileNothingIsPaidEndsTheOldSubscription(t *testing.T) {
	s := newWorld(t)
	account := accounts.NewAccountID()
	first, err := s.Subscribe(t.Context(), account, pro, none, origin)
	require.NoError(t, err)
	second, err := s.Subscribe(t.Context(), account, indie, none, origin)
	require.NoError(t, err)
	require.NotEqual(t, first.Subscription, second.Subscription)
	require.EqualValues(t, 1000, second.Amount)
	require.Error(t, s.sandbox.Confirm(first.ClientSecret, "pm_card_visa"), "it can not be paid any more")
	s.pay(second, "pm_card_visa")
	s.Must(s.Refresh(t.Context(), account))
	require.Equal(t, plan.Indie, s.state(account).Entitled.Plan)
}

func TestANewAccountHasADiscountOnce(t *testing.T) {
	s := newWorld(t)
	generous := s.instance(s.Log, s.Gateway, sandbox.WelcomeCoupon)
	account := accounts.NewAccountID()
	made, err := generous.Subscribe(t.Context(), account, pro, none, origin)
	require.NoError(t, err)
	require.EqualValues(t, 3920, made.Amount)
	require.Equal(t, "Welcome", made.Discount.Name)

	s.pay(made, "pm_card_visa")
	s.Must(generous.Cancel(t.Context(), account, none, origin))
	s.advance(32*24*time.Hour, account)
	made, err = generous.Subscribe(t.Context(), account, pro, none, origin)
	require.NoError(t, err)
	require.EqualValues(t, 4900, made.Amount)
	require.Nil(t, made.Discount)
}

func TestACouponThatIsGoneKeepsNobodyFromSubscribing(t *testing.T) {
	s := newWorld(t)
	made, err := s.instance(s.Log, s.Gateway, "GONE").Subscribe(t.Context(), accounts.NewAccountID(), pro, none, origin)
	require.NoError(t, err)
	require.EqualValues(t, 4900, made.Amount)
}

func TestACustomerThatTheProviderHasForgotten(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	former := s.state(account).Customer
	s.Must(s.api.V1Customers.Delete(t.Context(), former, nil))

	// the account has no subscription any more
	for range 2 {
		s.Must(s.Refresh(t.Context(), account))
		require.Equal(t, plan.Free, s.state(account).Entitled.Plan)
		require.Nil(t, s.state(account).Card)
	}

	// and can subscribe again
	made, err := s.Subscribe(t.Context(), account, indie, none, origin)
	require.NoError(t, err)
	require.NotEqual(t, former, s.state(account).Customer)
	s.pay(made, "pm_card_visa")
	s.Must(s.Refresh(t.Context(), account))
	require.Equal(t, plan.Indie, s.state(account).Entitled.Plan)
}

func TestARequestWithAKeyIsCarriedOutOnce(t *testing.T) {
	s := newWorld(t)
	account := accounts.NewAccountID()
	key := domain.Repetition{Key: "k", Content: "c"}
	made, err := s.Subscribe(t.Context(), account, pro, key, origin)
	require.NoError(t, err)
	recorded := len(s.events(account))

	again, err := s.Subscribe(t.Context(), account, pro, key, origin)
	require.NoError(t, err)
	require.Equal(t, made, again)
	require.Len(t, s.events(account), recorded, "the answer is derived from what was made")

	_, err = s.Subscribe(t.Context(), account, indie, domain.Repetition{Key: "k", Content: "d"}, origin)
	require.ErrorIs(t, err, domain.ErrKeyReused)
	require.Len(t, s.has(account).Subscriptions, 1)
}

// Two concurrent clicks, on two instances, with and without a key, charge once.
func TestARepetitionHasTheSameAnswerAfterThePayment(t *testing.T) {
	s := newWorld(t)
	account, key := accounts.NewAccountID(), domain.Repetition{Key: "k", Content: "c"}
	b := s.instance(s.Log, s.Gateway, sandbox.WelcomeCoupon)
	made, err := b.Subscribe(t.Context(), account, indie, key, origin)
	require.NoError(t, err)
	require.NotEmpty(t, made.ClientSecret)
	require.NotNil(t, made.Discount)
	require.EqualValues(t, 800, made.Amount)
	s.pay(made, "pm_card_visa")
	s.advance(time.Hour, account)
	s.Must(s.ChangePlan(t.Context(), account, pro, none, origin))
	again, err := b.Subscribe(t.Context(), account, indie, key, origin)
	require.NoError(t, err)
	again.Position = made.Position
	require.Equal(t, made, again)
}

func TestDoubleClicksChargeOnce(t *testing.T) {
	s := newWorld(t)
	other := s.instance(s.Log, s.gateway(s.sandbox.URL()), "")
	for name, r := range map[string]domain.Repetition{"without a key": none, "with a key": {Key: "k", Content: "c"}} {
		t.Run(name, func(t *testing.T) {
			account := s.subscribed(indie)
			var wait sync.WaitGroup
			for _, b := range []*billing.Billing{s.Billing, other, s.Billing} {
				wait.Go(func() {
					_, err := b.ChangePlan(t.Context(), account, premium, r, origin)
					switch domain.CodeOf(err) {
					case "", domain.Conflict, domain.Rejected, domain.Unavailable:
					default:
						assert.NoError(t, err)
					}
				})
			}
			wait.Wait()
			if state := s.state(account); state.Open != nil { // the provider does not serve one key twice concurrently
				s.advance(billing.Patience + time.Second)
				s.Must(s.CompleteRequest(t.Context(), subscription.Stream(account), cause()))
			}
			require.Equal(t, plan.Premium, s.state(account).Entitled.Plan)
			require.Len(t, s.has(account).Invoices, 2)
		})
	}
}

// patient is a provider that delays a change, and counts changes.
type patient struct {
	busy
	changes atomic.Int64
	begun   chan struct{} // is closed when the first change has begun
	goOn    chan struct{}
}

func (p *patient) ChangePrice(
	ctx context.Context, a payments.Attempt, c payments.PriceChange,
) (payments.Subscription, error) {
	if p.changes.Add(1) == 1 {
		close(p.begun)
		<-p.goOn
	}
	return p.Gateway.ChangePrice(ctx, a, c)
}

// A caller that waits for a request of another one does not repeat it, because a later request may have followed.
func TestWhoWaitsForARequestDoesNotRepeatIt(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(indie)
	provider := &patient{busy: busy{Gateway: s.Gateway}, begun: make(chan struct{}), goOn: make(chan struct{})}
	b := s.instance(s.Log, provider, "")
	change := func() error {
		_, err := b.ChangePlan(t.Context(), account, pro, none, origin)
		return err
	}
	var wait sync.WaitGroup
	wait.Go(func() { assert.NoError(t, change()) })
	<-provider.begun
	looks := provider.looks.Load()
	wait.Go(func() {
		if err := change(); domain.CodeOf(err) != domain.Rejected { // which follows the end of the first one
			assert.NoError(t, err)
		}
	})
	require.Eventually(t, func() bool { return provider.looks.Load() > looks }, commandstest.Patience, time.Millisecond)
	close(provider.goOn)
	wait.Wait()
	require.EqualValues(t, 1, provider.changes.Load())
	require.Equal(t, plan.Pro, s.state(account).Entitled.Plan)
}

func TestAClosedAccountHasNothingAtTheProvider(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	for range 2 {
		require.NoError(t, s.EndFor(t.Context(), account))
		require.True(t, s.has(account).Deleted)
		require.Equal(t, "canceled", s.has(account).Subscriptions[0].Status)
		require.Equal(t, plan.Free, s.state(account).Entitled.Plan)
	}
	_, err := s.Subscribe(t.Context(), account, pro, none, origin)
	require.Equal(t, domain.Unauthenticated, domain.CodeOf(err))

	// a notice after the erasure of the account's key is handled, and restores no data
	require.NoError(t, s.keys.Erase(t.Context(), account))
	require.NoError(t, s.EndFor(t.Context(), account))
	s.Must(s.Refresh(t.Context(), account))
	s.Must(s.Refresh(t.Context(), account))

	require.NoError(t, s.EndFor(t.Context(), accounts.NewAccountID()), "an account that never had anything")
}

func TestAPriceIsKnownAndOnSale(t *testing.T) {
	s := newWorld(t)
	for _, price := range []string{"price_gold", "", "../pro"} {
		_, err := s.Subscribe(t.Context(), accounts.NewAccountID(), price, none, origin)
		require.Equal(t, domain.NotFound, domain.CodeOf(err))
	}
}
