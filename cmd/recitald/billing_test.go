package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// product is an item of GET /payments/products.
type product struct {
	Name        string
	PriceID     *string `json:"price_id"`
	MonthlyCost int64   `json:"monthly_cost"`
}

func (s *server) products() (listed []product) {
	s.t.Helper()
	answer := requireOK(s.t, fetch(s.t, http.MethodGet, s.address+"/payments/products"))
	answer.decode(s.t, &listed)
	return listed
}

// overview is the reply of GET /payments/billing.
type overview struct {
	Subscription struct {
		PriceID           *string `json:"price_id"`
		Status            *string
		CurrentPeriodEnd  int64 `json:"current_period_end"`
		CancelAtPeriodEnd bool  `json:"cancel_at_period_end"`
		ScheduledChange   *struct {
			PriceID     string `json:"price_id"`
			PlanName    string `json:"plan_name"`
			EffectiveAt int64  `json:"effective_at"`
		} `json:"scheduled_change"`
		PendingChange *struct {
			PriceID   string `json:"price_id"`
			ExpiresAt int64  `json:"expires_at"`
		} `json:"pending_change"`
	}
	PaymentMethod *struct{ Brand, Last4 string } `json:"payment_method"`
	Invoices      []struct {
		ID, Status, Currency string
		AmountDue            int64  `json:"amount_due"`
		AmountPaid           int64  `json:"amount_paid"`
		Page                 string `json:"hosted_invoice_url"`
	}
}

// status returns "" if there is no subscription.
func (o overview) status() string {
	if o.Subscription.Status == nil {
		return ""
	}
	return *o.Subscription.Status
}

func (c customer) billing(t *testing.T) (o overview) {
	t.Helper()
	c.read(t, "/payments/billing", &o)
	return o
}

// awaitPlan waits until the account is on a plan.
func (c customer) awaitPlan(t *testing.T, is plan.Type) {
	t.Helper()
	require.Eventually(t, func() bool { return c.account(t).Plan.Type == is }, patience, pause,
		"the plan does not become %s", is)
}

// awaitStatus waits until the overview shows a status. After a kill the read models may not answer yet.
func (c customer) awaitStatus(t *testing.T, status string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var o overview
		answer := do(t, c.request(http.MethodGet, "/payments/billing", nil))
		if answer.status != http.StatusServiceUnavailable {
			require.Equal(t, 200, answer.status, answer.text())
			answer.decode(t, &o)
		}
		return o.status() == status
	}, patience, pause, "the subscription does not become %s", status)
}

// subscribed is the reply of POST /payments/subscribe.
type subscribed struct {
	SubscriptionID string `json:"subscription_id"`
	ClientSecret   string `json:"client_secret"`
	Amount         int64
	Currency       string
	Discount       *struct{ Name, Description string } `json:"applied_discount"`
}

func (c customer) subscribe(t *testing.T, on string, headers ...string) (made subscribed) {
	t.Helper()
	answer := requireOK(t, c.post(t, "/payments/subscribe", order{"price_id": sandbox.PriceOf(on)}, headers...))
	answer.decode(t, &made)
	return made
}

// succeeds makes a billing request and decodes its reply.
func (c customer) succeeds(t *testing.T, path string, o order, into any) {
	t.Helper()
	answer := requireOK(t, c.post(t, "/payments/"+path, o))
	require.Equal(t, "no-store", answer.header.Get("Cache-Control"))
	require.NotEmpty(t, answer.header.Get("x-recital-position"))
	require.NoError(t, json.Unmarshal(answer.body, into), answer.text())
}

// refused makes a billing request that the subscription does not permit.
func (c customer) refused(t *testing.T, status int, path string, o order, why string) {
	t.Helper()
	answer := c.post(t, "/payments/"+path, o)
	require.Equal(t, status, answer.status, "%s: %s", path, answer.text())
	require.Contains(t, answer.text(), why)
	if status == 400 || status == 409 {
		require.Equal(t, "false", answer.header.Get("x-should-retry"), path)
	}
}

// capsSpending sets a spending cap and checks its currency.
func (c customer) capsSpending(t *testing.T) {
	t.Helper()
	for range 2 {
		answer := do(t, c.request(http.MethodPut, "/payments/spending-cap", strings.NewReader(`{"amount": 2500}`),
			"Content-Type", "application/json"))
		require.Equal(t, 200, answer.status, answer.text())
		require.JSONEq(t, `{"amount": 2500, "currency": "usd"}`, answer.text())
	}
	var shown struct {
		Amount, Spent int64
		PeriodEnd     int64 `json:"period_end"`
	}
	answer := requireOK(t, do(t, c.request(http.MethodGet, "/payments/spending-cap", nil)))
	answer.decode(t, &shown)
	require.EqualValues(t, 2500, shown.Amount)
	require.Zero(t, shown.Spent)
	require.Equal(t, c.account(t).Usage.PeriodEnd, shown.PeriodEnd)
}

// TestTheLifeOfASubscription goes through all changes that an owner can make.
func TestTheLifeOfASubscription(t *testing.T) {
	t.Parallel()
	b := openPaymentProvider(t)
	s := b.serve(dataFolder(t))
	c, stranger := s.openAccount("free"), s.openAccount("free")
	indie, pro := order{"price_id": sandbox.PriceOf("indie")}, order{"price_id": sandbox.PriceOf("pro")}

	// given the products, and an account without a subscription
	require.Equal(t, product{Name: "Free"}, s.products()[0])
	require.Equal(t, []int64{10, 49, 199}, []int64{s.products()[1].MonthlyCost, s.products()[2].MonthlyCost,
		s.products()[3].MonthlyCost})
	require.Empty(t, c.billing(t).status())
	for path, o := range map[string]order{"change-plan": indie, "cancel": {}, "uncancel": {},
		"cancel-scheduled-change": {}} {
		c.refused(t, 409, path, o, "There is no active subscription")
	}
	c.refused(t, 404, "subscribe", order{"price_id": "price_of_nothing"}, "There is no such price")

	// when it subscribes, then the subscription waits for the payment, and a repetition has the same answer
	made := c.subscribe(t, "indie")
	require.EqualValues(t, 1000, made.Amount)
	require.Equal(t, "usd", made.Currency)
	require.NotEmpty(t, made.ClientSecret)
	require.Equal(t, made, c.subscribe(t, "indie"))
	require.Equal(t, "incomplete", c.billing(t).status())
	require.Equal(t, plan.Free, c.account(t).Plan.Type)

	// when it pays, then it is on the plan
	b.pays(made.ClientSecret, "pm_card_visa")
	c.awaitStatus(t, "active")
	c.awaitPlan(t, plan.Indie)
	shown := c.account(t)
	require.True(t, shown.Plan.Commercial)
	require.EqualValues(t, 200_000, *shown.Plan.Limit)
	require.Equal(t, "active", *shown.SubState)
	seen := c.billing(t)
	require.Equal(t, sandbox.PriceOf("indie"), *seen.Subscription.PriceID)
	require.Equal(t, shown.Usage.PeriodEnd, seen.Subscription.CurrentPeriodEnd)
	require.Equal(t, "4242", seen.PaymentMethod.Last4)
	require.Len(t, seen.Invoices, 1)
	require.EqualValues(t, 1000, seen.Invoices[0].AmountPaid)
	require.Equal(t, "paid", seen.Invoices[0].Status)
	c.capsSpending(t)
	c.refused(t, 409, "subscribe", pro, "There is a subscription already")
	c.refused(t, 409, "change-plan", indie, "The subscription has this price already")

	// when it upgrades, then the change is immediate and charged in proportion
	var changed struct {
		Kind        string
		EffectiveAt int64 `json:"effective_at"`
	}
	var preview struct {
		Kind    string
		Preview struct {
			AmountDue int64 `json:"amount_due"`
			Currency  string
		}
	}
	answer := requireOK(t, c.post(t, "/payments/change-plan?preview=true", pro))
	require.Empty(t, answer.header.Get("x-recital-position"), "nothing is recorded")
	require.NoError(t, json.Unmarshal(answer.body, &preview), answer.text())
	require.Equal(t, "upgraded", preview.Kind)
	require.InDelta(t, 3900, preview.Preview.AmountDue, 2)
	require.Equal(t, "usd", preview.Preview.Currency)
	require.Equal(t, seen, c.billing(t), "a preview changes nothing")
	c.succeeds(t, "change-plan", pro, &changed)
	require.Equal(t, "upgraded", changed.Kind)
	require.WithinDuration(t, time.Now(), time.Unix(changed.EffectiveAt, 0), time.Hour)
	require.Equal(t, sandbox.PriceOf("pro"), *c.billing(t).Subscription.PriceID)
	c.awaitPlan(t, plan.Pro)
	require.Len(t, c.billing(t).Invoices, 2)
	require.InDelta(t, 1000+3900, c.billing(t).Invoices[0].AmountPaid+c.billing(t).Invoices[1].AmountPaid, 2,
		"both may have the same second")

	// when it downgrades, then the change is scheduled and can be dropped
	c.succeeds(t, "change-plan", indie, &changed)
	require.Equal(t, "downgrade_scheduled", changed.Kind)
	scheduled := c.billing(t).Subscription.ScheduledChange
	require.Equal(t, sandbox.PriceOf("indie"), scheduled.PriceID)
	require.Equal(t, "Indie", scheduled.PlanName)
	require.Equal(t, changed.EffectiveAt, scheduled.EffectiveAt)
	require.Equal(t, plan.Pro, c.account(t).Plan.Type)
	var done struct{ Success bool }
	c.succeeds(t, "cancel-scheduled-change", order{}, &done)
	require.True(t, done.Success)
	require.Nil(t, c.billing(t).Subscription.ScheduledChange)
	c.refused(t, 409, "cancel-scheduled-change", order{}, "No change is scheduled")

	// when it cancels, then the subscription ends with the period, unless the cancellation is withdrawn
	var cancelled struct {
		SubscriptionID string `json:"subscription_id"`
		CancelAt       int64  `json:"cancel_at"`
	}
	c.succeeds(t, "cancel", order{}, &cancelled)
	require.NotEmpty(t, cancelled.SubscriptionID)
	require.Equal(t, c.billing(t).Subscription.CurrentPeriodEnd, cancelled.CancelAt)
	require.True(t, c.billing(t).Subscription.CancelAtPeriodEnd)
	require.Eventually(t, func() bool { return c.account(t).CancelAtPeriodEnd }, patience, pause)
	c.refused(t, 409, "cancel", order{}, "The subscription is cancelled")
	c.succeeds(t, "uncancel", order{}, &done)
	require.False(t, c.billing(t).Subscription.CancelAtPeriodEnd)
	c.refused(t, 409, "uncancel", order{}, "The subscription is not cancelled")

	// when it replaces its card, then the new card pays. Another account's card is unknown.
	var setup struct {
		ClientSecret string `json:"client_secret"`
	}
	c.succeeds(t, "setup-intent", order{}, &setup)
	method := b.registers(setup.ClientSecret, "pm_card_mastercard")
	stranger.refused(t, 404, "payment-method/replace", order{"payment_method_id": method},
		"There is no such payment method")
	var card struct{ Brand, Last4 string }
	c.succeeds(t, "payment-method/replace", order{"payment_method_id": method}, &card)
	require.Equal(t, "mastercard", card.Brand)
	require.Equal(t, "4444", card.Last4)
	require.Equal(t, "4444", c.billing(t).PaymentMethod.Last4)

	// when the account is closed, then the subscription ends and the customer is deleted at the provider
	customers := b.customers(c.id)
	require.Len(t, customers, 1)
	require.Equal(t, 200, do(t, c.request(http.MethodDelete, "/v1/account", nil)).status)
	s.eventually(func() bool { return len(b.customers(c.id)) == 0 })
	left, err := b.gateway.Billing(t.Context(), customers[0])
	require.NoError(t, err)
	require.True(t, left.Deleted)
	require.Equal(t, "canceled", left.Subscriptions[0].Status)

	// and the service's log has no secret and no card
	for _, secret := range []string{made.ClientSecret, setup.ClientSecret, providerKey, providerSecret, "mastercard"} {
		require.NotContains(t, read(t, s.log), secret)
	}
	require.NotRegexp(t, `\b4444\b`, read(t, s.log)) // whole word: a duration like 1.444469 ms is allowed
}
