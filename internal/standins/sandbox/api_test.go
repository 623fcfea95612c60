package sandbox_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// named creates a customer with a name, under an idempotency key.
func (s *shop) named(name, key string) (*stripe.Customer, error) {
	params := &stripe.CustomerCreateParams{Metadata: map[string]string{"name": name}}
	params.IdempotencyKey = &key
	return s.api.V1Customers.Create(s.t.Context(), params)
}

func TestARepeatedKeyGetsTheSameAnswerForADay(t *testing.T) {
	s := open(t)
	one, err := s.named("Ada", "key-1")
	require.NoError(t, err)
	same, err := s.named("Ada", "key-1")
	require.NoError(t, err)
	require.Equal(t, one.ID, same.ID)
	require.Equal(t, "true", same.LastResponse.Header.Get("Idempotent-Replayed"))

	_, err = s.named("Eve", "key-1")
	var refused *stripe.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusBadRequest, refused.HTTPStatusCode)
	require.Equal(t, stripe.ErrorTypeIdempotency, refused.Type)

	require.NoError(t, s.Advance(25*time.Hour))
	other, err := s.named("Ada", "key-1")
	require.NoError(t, err)
	require.NotEqual(t, one.ID, other.ID, "the key is forgotten")
}

func TestAnInvalidRequestIsNotRemembered(t *testing.T) {
	s := open(t)
	subscribe := func(customer string) error {
		params := &stripe.SubscriptionCreateParams{
			Customer: &customer, PaymentBehavior: stripe.String("default_incomplete"),
			Items: []*stripe.SubscriptionCreateItemParams{{Price: stripe.String(sandbox.PriceOf("pro"))}},
		}
		params.IdempotencyKey = stripe.String("key-2")
		_, err := s.api.V1Subscriptions.Create(t.Context(), params)
		return err
	}
	require.ErrorContains(t, subscribe("cus_nobody"), "No such customer")
	require.NoError(t, subscribe(s.customer().ID))
}

func TestADeclinedPaymentIsRemembered(t *testing.T) {
	s := open(t)
	sub := s.active(sandbox.PriceOf("indie"), "pm_card_visa")
	require.NoError(t, s.FailNextPayment(sub.Customer.ID))
	upgrade := func() error {
		params := &stripe.SubscriptionUpdateParams{
			Items: []*stripe.SubscriptionUpdateItemParams{{ID: &itemOf(sub).ID,
				Price: stripe.String(sandbox.PriceOf("pro"))}},
			ProrationBehavior: stripe.String("always_invoice"), PaymentBehavior: stripe.String("error_if_incomplete"),
		}
		params.IdempotencyKey = stripe.String("key-3")
		_, err := s.api.V1Subscriptions.Update(t.Context(), sub.ID, params)
		return err
	}
	for range 2 {
		require.ErrorContains(t, upgrade(), "declined", "the second is a repetition")
	}
	require.NoError(t, s.Advance(25*time.Hour))
	require.NoError(t, upgrade())
}

func TestConcurrentRequestsWithOneKeyMakeOneObject(t *testing.T) {
	s := open(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := s.named("Ada", "key-4")
			var refused *stripe.Error
			if err != nil {
				require.ErrorAs(t, err, &refused)
				require.Equal(t, http.StatusConflict, refused.HTTPStatusCode)
			}
		})
	}
	wg.Wait()
	require.Equal(t, []string{"customer.created"}, s.events())
}

func TestListsHavePages(t *testing.T) {
	s := open(t)
	var made []string
	for i := range 25 {
		c, err := s.named("Ada", fmt.Sprint("key-", i))
		require.NoError(t, err)
		made = append([]string{c.ID}, made...)
	}
	var got []string
	for c, err := range s.api.V1Customers.List(t.Context(), &stripe.CustomerListParams{}) {
		require.NoError(t, err)
		got = append(got, c.ID)
	}
	require.Equal(t, made, got, "the newest first, page after page")
}

func TestRequestsThatStripeRefusesAreRefused(t *testing.T) {
	s := open(t)
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(key, method, path string) int {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+key)
		response, err := plain.Do(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	for name, want := range map[string]struct {
		status            int
		key, method, path string
	}{
		"no key":               {401, "", "GET", "/v1/customers"},
		"another key":          {401, "sk_test_other", "GET", "/v1/customers"},
		"control without key":  {401, "", "POST", "/sandbox/advance"},
		"unknown path":         {404, key, "GET", "/v1/nothing"},
		"unknown object":       {404, key, "GET", "/v1/customers/cus_1"},
		"an id of other kind":  {404, key, "GET", "/v1/customers/price_indie"},
		"unknown parameter":    {400, key, "POST", "/v1/customers?nam=x"},
		"missing parameter":    {400, key, "POST", "/v1/prices"},
		"not a number":         {400, key, "GET", "/v1/customers?limit=x"},
		"too many":             {400, key, "GET", "/v1/customers?limit=101"},
		"cannot be expanded":   {400, key, "GET", "/v1/coupons/WELCOME?expand[]=nothing"},
		"expanded too deeply":  {400, key, "GET", "/v1/prices?expand[]=data.product.a.b.c"},
		"an unknown behaviour": {400, key, "POST", "/v1/subscriptions?payment_behavior=hope"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, want.status, ask(want.key, want.method, want.path))
		})
	}
}

func TestACustomerPaysInOneCurrency(t *testing.T) {
	s := open(t)
	euros, err := s.api.V1Prices.Create(t.Context(), &stripe.PriceCreateParams{
		Currency: stripe.String("eur"), UnitAmount: stripe.Int64(900), Product: stripe.String("prod_indie"),
		Recurring: &stripe.PriceCreateRecurringParams{Interval: stripe.String("month")},
	})
	require.NoError(t, err)
	sub := s.active(sandbox.PriceOf("indie"), "pm_card_visa")
	_, err = s.api.V1Subscriptions.Create(t.Context(), &stripe.SubscriptionCreateParams{
		Customer: &sub.Customer.ID, Items: []*stripe.SubscriptionCreateItemParams{{Price: &euros.ID}},
		PaymentBehavior: stripe.String("default_incomplete"),
	})
	require.ErrorContains(t, err, "currencies")
	_, err = s.change(sub, euros.ID)
	require.Error(t, err)
}

func TestAWithdrawnPriceCannotBeBought(t *testing.T) {
	s := open(t)
	_, err := s.api.V1Prices.Update(t.Context(), sandbox.PriceOf("pro"),
		&stripe.PriceUpdateParams{Active: stripe.Bool(false)})
	require.NoError(t, err)
	c := s.customer()
	_, err = s.api.V1Subscriptions.Create(t.Context(), &stripe.SubscriptionCreateParams{
		Customer: &c.ID, Items: []*stripe.SubscriptionCreateItemParams{{Price: stripe.String(sandbox.PriceOf("pro"))}},
		PaymentBehavior: stripe.String("default_incomplete"),
	})
	require.ErrorContains(t, err, "inactive")
	require.Contains(t, s.events(), "price.updated")
}

func TestEventsAreForgottenAfterThirtyDays(t *testing.T) {
	s := open(t)
	s.customer()
	require.NoError(t, s.Advance(29*24*time.Hour))
	require.Len(t, s.events(), 1)
	require.NoError(t, s.Advance(2*24*time.Hour))
	require.Empty(t, s.events())
}
