package sandbox_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/standins"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// ids returns the ids of the events of the received webhooks.
func (s *shop) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, e := range s.notices {
		ids = append(ids, e.ID)
	}
	return ids
}

func (s *shop) pending() int {
	status, err := s.Status()
	require.NoError(s.t, err)
	return status.PendingWebhooks
}

// waiting returns the ids of the events so far, oldest first, and requires that no webhook was sent yet.
func (s *shop) waiting() (ids []string) {
	for e, err := range s.api.V1Events.List(s.t.Context(), &stripe.EventListParams{}) {
		require.NoError(s.t, err)
		ids = append([]string{e.ID}, ids...)
	}
	require.Equal(s.t, len(ids), s.pending())
	return ids
}

func (s *shop) settled() bool { return s.pending() == 0 }

func TestAWebhookIsSentUntilItIsAcknowledged(t *testing.T) {
	s := open(t)
	var refusals atomic.Int32
	picky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusals.Add(1) <= 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.receive(w, r)
	}))
	defer picky.Close()
	s.SetWebhookURL(picky.URL)
	s.customer()
	require.Eventually(t, func() bool {
		require.NoError(t, s.Advance(time.Minute)) // the pauses grow
		return s.settled()
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, []string{"customer.created"}, s.heard())
	require.Equal(t, int32(3), refusals.Load())
}

func TestAWebhookIsGivenUpAfterThreeDays(t *testing.T) {
	s := open(t)
	s.receiver.Close()
	s.customer()
	require.Eventually(t, func() bool {
		require.NoError(t, s.Advance(6*time.Hour))
		return s.settled()
	}, time.Minute, 10*time.Millisecond)
	require.Len(t, s.events(), 1, "the event can still be read")
}

func TestWebhooksWaitForAnAddress(t *testing.T) {
	s := open(t)
	s.SetWebhookURL("")
	s.customer()
	require.Equal(t, 1, s.pending())
	s.SetWebhookURL(s.receiver.URL)
	require.Eventually(t, s.settled, time.Minute, 5*time.Millisecond)
	require.Equal(t, []string{"customer.created"}, s.heard())
}

func TestWebhooksComeInDisorderOnDemand(t *testing.T) {
	t.Run("held, and sent one by one", func(t *testing.T) {
		s := open(t)
		s.Disorder(sandbox.Disorder{Hold: true})
		s.customer()
		s.customer()
		waiting := s.waiting()
		require.Len(t, waiting, 2)
		for _, i := range []int{1, 0, 1} {
			require.NoError(t, s.Deliver(t.Context(), waiting[i]))
		}
		require.Equal(t, []string{waiting[1], waiting[0], waiting[1]}, s.ids())
		require.True(t, s.settled())
	})
	t.Run("twice", func(t *testing.T) {
		s := open(t)
		s.Disorder(sandbox.Disorder{Duplicate: 100})
		s.customer()
		require.Eventually(t, s.settled, time.Minute, 5*time.Millisecond)
		require.Equal(t, []string{"customer.created", "customer.created"}, s.heard())
	})
	t.Run("never", func(t *testing.T) {
		s := open(t)
		s.Disorder(sandbox.Disorder{Lose: 100})
		s.customer()
		require.Eventually(t, s.settled, time.Minute, 5*time.Millisecond)
		require.Empty(t, s.heard())
		require.Len(t, s.events(), 1)
	})
	t.Run("later", func(t *testing.T) {
		s := open(t)
		s.Disorder(sandbox.Disorder{Delay: standins.Span(time.Hour)})
		s.customer()
		require.NoError(t, s.Advance(59*time.Minute))
		require.Empty(t, s.heard())
		require.NoError(t, s.Advance(2*time.Minute))
		require.Eventually(t, s.settled, time.Minute, 5*time.Millisecond)
		require.Len(t, s.heard(), 1)
	})
	t.Run("in any order", func(t *testing.T) {
		s := open(t)
		s.Disorder(sandbox.Disorder{Hold: true})
		s.active(sandbox.PriceOf("indie"), "pm_card_visa")
		inOrder := s.waiting()
		s.Disorder(sandbox.Disorder{Shuffle: true})
		require.Eventually(t, s.settled, time.Minute, 5*time.Millisecond)
		require.NotEqual(t, inOrder, s.ids()) // one order of 12!
		require.ElementsMatch(t, inOrder, s.ids())
	})
}

// order sends an order to the control, and returns the HTTP status and the reply.
func (s *shop) order(path string, body any) (int, standins.Status) {
	raw, err := json.Marshal(body)
	require.NoError(s.t, err)
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, path, bytes.NewReader(raw))
	w := httptest.NewRecorder()
	s.Control().ServeHTTP(w, r)
	var status standins.Status
	answer, err := io.ReadAll(w.Body)
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(answer, &status))
	return w.Code, status
}

func TestTheSandboxIsDrivenOverHTTP(t *testing.T) {
	s := open(t)
	type body map[string]any
	sub := s.subscribe(s.customer().ID, sandbox.PriceOf("indie"))
	secret := sub.LatestInvoice.ConfirmationSecret.ClientSecret
	did := func(path string, b body) standins.Status {
		code, status := s.order(path, b)
		require.Equal(t, http.StatusOK, code, path)
		return status
	}
	did("/fail-next-payment", body{"customer": sub.Customer.ID})
	code, _ := s.order("/confirm", body{"client_secret": secret, "payment_method": "pm_card_visa"})
	require.Equal(t, http.StatusPaymentRequired, code)
	did("/confirm", body{"client_secret": secret, "payment_method": "4000002500003155"})
	did("/authenticate", body{"client_secret": secret, "approved": true})
	did("/confirm", body{"client_secret": s.setup(sub.Customer.ID).ClientSecret, "payment_method": "4242424242424242"})
	did("/refund", body{"invoice": sub.LatestInvoice.ID, "amount": 100})
	did("/dispute", body{"invoice": sub.LatestInvoice.ID})
	did("/faults", body{"faults": []body{{"do": "fail", "path": "/v1/customers", "times": 1}}})
	did("/webhooks", body{"hold": true})
	before := s.Now()
	status := did("/advance", body{"duration": "24h"})
	require.False(t, status.Now.Before(before.Add(24*time.Hour)))
	require.Equal(t, 1, status.Faults)
	require.Equal(t, 1, status.Subscriptions)
	require.Equal(t, s.receiver.URL, status.WebhookURL)
	require.True(t, slices.Contains(s.events(), "charge.dispute.created"))

	for path, wrong := range map[string]body{
		"/advance": {"duration": "-1h"}, "/refund": {"invoice": sub.LatestInvoice.ID, "amount": 901},
		"/faults":   {"faults": []body{{"do": "explode"}}},
		"/webhooks": {"unknown": true}, "/confirm": {"client_secret": "pi_1_secret_2"},
	} {
		code, _ := s.order(path, wrong)
		require.GreaterOrEqual(t, code, 400, path)
		require.Less(t, code, 500, path)
	}
}
