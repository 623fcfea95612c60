package main_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/standins/sandbox"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestARequestIsRepeatedUnderItsKey(t *testing.T) {
	t.Parallel()
	b := openTill(t)
	s := b.serve(dataFolder(t))
	c, other := s.openAccount("free"), s.openAccount("free")
	key := []string{"Idempotency-Key", "order-1"}

	// the same key and content get the same answer, even after later changes
	made := c.subscribe(t, "indie", key...)
	b.pays(made.ClientSecret, "pm_card_visa")
	c.awaitPlan(t, plan.Indie)
	again := c.subscribe(t, "indie", key...)
	require.Equal(t, made, again)

	// other content is refused, and keys of different accounts are independent
	refused := c.post(t, "/payments/subscribe", order{"price_id": sandbox.PriceOf("pro")}, key...)
	require.Equal(t, 422, refused.status, refused.text())
	require.Contains(t, refused.text(), `"loc":["header","idempotency-key"]`)
	require.NotEqual(t, made.SubscriptionID, other.subscribe(t, "pro", key...).SubscriptionID)

	// an upgrade is charged once
	upgrade := order{"price_id": sandbox.PriceOf("premium")}
	for range 3 {
		answer := c.post(t, "/payments/change-plan", upgrade, "Idempotency-Key", "order-2")
		require.Equal(t, 200, answer.status, answer.text())
		require.Contains(t, answer.text(), `"upgraded"`)
	}
	require.Len(t, b.billing(c.id).Invoices, 2)
	require.Equal(t, made, c.subscribe(t, "indie", key...), "the answer names the first invoice, not the latest")

	for name, wrong := range map[string]string{"two words": "order 1", "nothing": ""} {
		require.Equal(t, 422, c.post(t, "/payments/cancel", order{}, "Idempotency-Key", wrong).status, name)
	}
}

// While a request is under way, its repetition and other requests are refused with 409.
func TestARequestThatIsUnderWayIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	b := openTill(t)
	s := b.serve(dataFolder(t))
	c := s.openAccount("free")
	at := b.hold(1, false)
	ended := make(chan struct{})
	ask := c.request(http.MethodPost, "/payments/subscribe", order{"price_id": sandbox.PriceOf("indie")}.encode(),
		"Idempotency-Key", "order-1").WithContext(t.Context())
	go func() {
		defer close(ended)
		if response, err := http.DefaultClient.Do(ask); err == nil {
			_ = response.Body.Close()
		}
	}()
	<-at.reached
	for name, answer := range map[string]reply{
		"the same": c.post(t, "/payments/subscribe", order{"price_id": sandbox.PriceOf("indie")}, "Idempotency-Key",
			"order-1"),
		"another":         c.post(t, "/payments/setup-intent", order{}),
		"another with it": c.post(t, "/payments/setup-intent", order{}, "Idempotency-Key", "order-2"),
	} {
		require.Equal(t, 409, answer.status, "%s: %s", name, answer.text())
		require.Equal(t, "true", answer.header.Get("x-should-retry"), name)
		require.Equal(t, "1", answer.header.Get("Retry-After"), name)
	}
	require.Equal(t, 422, c.post(t, "/payments/subscribe", order{"price_id": sandbox.PriceOf("pro")}, "Idempotency-Key",
		"order-1").status)
	s.kill()
	<-ended
}

// A double click charges once.
func TestDoubleClicksChargeOnce(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	b := openTill(t)
	s := b.serve(dataFolder(t))
	c := s.openAccount("free")
	atOnce := func(path string, o order) {
		t.Helper()
		var wait sync.WaitGroup
		for range 5 {
			wait.Go(func() {
				answer := c.post(t, "/payments/"+path, o)
				if answer.status != 200 && answer.status != 409 {
					t.Errorf("%d %s", answer.status, answer.text())
				}
			})
		}
		wait.Wait()
	}
	atOnce("subscribe", order{"price_id": sandbox.PriceOf("indie")})
	require.Len(t, b.billing(c.id).Subscriptions, 1)
	b.pays(c.subscribe(t, "indie").ClientSecret, "pm_card_visa")
	c.awaitPlan(t, plan.Indie)
	atOnce("change-plan", order{"price_id": sandbox.PriceOf("pro")})
	require.Len(t, b.billing(c.id).Invoices, 2)
	c.awaitPlan(t, plan.Pro)
}

func TestADeclinedCardChangesNothing(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	b := openTill(t)
	s := b.serve(dataFolder(t))
	c := s.openAccount("free")
	made := c.subscribe(t, "indie")
	require.Error(t, b.Confirm(made.ClientSecret, "pm_card_chargeDeclined"))
	require.Equal(t, "incomplete", c.billing(t).status())
	require.Equal(t, made.SubscriptionID, c.subscribe(t, "indie").SubscriptionID)
	b.pays(made.ClientSecret, "pm_card_visa")
	c.awaitPlan(t, plan.Indie)

	require.NoError(t, b.FailNextPayment(b.customers(c.id)[0]))
	answer := c.post(t, "/payments/change-plan", order{"price_id": sandbox.PriceOf("pro")})
	require.Equal(t, 402, answer.status, answer.text())
	require.Contains(t, answer.text(), "The payment was declined")
	require.Contains(t, answer.text(), `"code":"generic_decline"`)
	require.Equal(t, sandbox.PriceOf("indie"), *c.billing(t).Subscription.PriceID)
	require.Equal(t, plan.Indie, c.shownPlan(t).Plan.Type)
	require.Equal(t, sandbox.PriceOf("indie"), b.billing(c.id).Subscriptions[0].Price)
}

// askedFor is a 402 reply that asks the owner of a card to confirm a payment.
type askedFor struct {
	Error, Code  string
	ClientSecret string `json:"client_secret"`
}

// With a card that needs confirmation, the plan changes once its owner has confirmed the payment.
func TestAnUpgradeWaitsForTheOwnerOfTheCard(t *testing.T) {
	t.Parallel()
	b := openTill(t)
	s := b.serve(dataFolder(t))
	c := s.openAccount("free")
	made := c.subscribe(t, "indie")
	b.pays(made.ClientSecret, "4000002760003184")
	require.NoError(t, b.Authenticate(made.ClientSecret, true))
	c.awaitPlan(t, plan.Indie)

	upgrade := func() (asked askedFor) {
		answer := c.post(t, "/payments/change-plan", order{"price_id": sandbox.PriceOf("pro")}, "Idempotency-Key", "order-1")
		require.Equal(t, 402, answer.status, answer.text())
		answer.decode(t, &asked)
		return asked
	}
	asked := upgrade()
	require.Equal(t, "authentication_required", asked.Code)
	require.Contains(t, asked.Error, "The bank asks")
	require.NotEmpty(t, asked.ClientSecret)
	shown := c.billing(t).Subscription
	require.Equal(t, sandbox.PriceOf("indie"), *shown.PriceID)
	require.NotNil(t, shown.PendingChange)
	require.Equal(t, sandbox.PriceOf("pro"), shown.PendingChange.PriceID)
	require.InDelta(t, b.Now().Add(23*time.Hour).Unix(), shown.PendingChange.ExpiresAt, 120)
	require.Equal(t, plan.Indie, c.shownPlan(t).Plan.Type)

	require.NoError(t, b.Authenticate(asked.ClientSecret, true))
	c.awaitPlan(t, plan.Pro)
	require.Nil(t, c.billing(t).Subscription.PendingChange)
	require.Equal(t, asked, upgrade(), "a repetition gets the same answer")
}

// Input is validated before the provider is called.
func TestInputsOfBillingAreChecked(t *testing.T) {
	t.Parallel()
	b := openTill(t)
	s := b.serve(dataFolder(t))
	c := s.openAccount("free")
	at := b.hold(0, false)
	for path, field := range map[string]string{"subscribe": "price_id", "change-plan": "price_id",
		"payment-method/replace": "payment_method_id"} {
		for body, kind := range map[string]string{
			`{}`: "missing", `{"` + field + `":null}`: "string_type", `{"` + field + `":7}`: "string_type", `{"` + field +
				`":""}`: "string_too_short", `[]`: "model_attributes_type", `{`: "json_invalid",
		} {
			answer := do(t, c.request(http.MethodPost, "/payments/"+path, strings.NewReader(body)))
			require.Equal(t, 422, answer.status, "%s %s: %s", path, body, answer.text())
			require.Contains(t, answer.text(), `"type":"`+kind+`"`, "%s %s", path, body)
		}
	}
	require.Empty(t, b.passed(at))
}
