package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// pastIndie exceeds the plan's characters by 16 units, which cost enough for a separate invoice.
const (
	pastIndie = 216_000
	pastCosts = 16 * 5 // cents
)

// uses makes an account use at least n characters, most of them spaces, which count but take no time to synthesise.
func (c customer) uses(t *testing.T, n int64) {
	t.Helper()
	text := strings.Repeat("oh"+strings.Repeat(" ", 238), 20) + "."
	for used := int64(0); used < n; used += int64(len(text)) {
		require.Equal(t, 200,
			c.post(t, bytesRoute, order{"text": text, "voice": "leah", "format": "raw", "sample_rate": 8000}).status)
	}
	require.GreaterOrEqual(t, c.usage(t), n)
}

// pastItsPlan returns an account that has exceeded its plan.
func (b *paymentProvider) pastItsPlan(s *server) customer {
	b.t.Helper()
	c := s.openAccount("free")
	b.pays(c.subscribe(b.t, "indie").ClientSecret, "pm_card_visa")
	c.awaitPlan(b.t, plan.Indie)
	c.uses(b.t, pastIndie)
	return c
}

// replacesCard registers a card and makes it the default.
func (b *paymentProvider) replacesCard(c customer, card string) {
	b.t.Helper()
	var setup subscribed
	c.succeeds(b.t, "setup-intent", order{}, &setup)
	var answer map[string]any
	c.succeeds(b.t, "payment-method/replace",
		order{"payment_method_id": b.registers(setup.ClientSecret, card)}, &answer)
}

// charged returns the amounts of a customer's charges, oldest first.
func (b *paymentProvider) charged(customer string) (amounts []int64) {
	b.t.Helper()
	var listed struct {
		Data []struct {
			Amount int64
			Paid   bool
		}
	}
	b.get("/v1/charges?limit=100&customer="+customer, &listed)
	for _, one := range listed.Data {
		if one.Paid {
			amounts = append([]int64{one.Amount}, amounts...)
		}
	}
	return amounts
}

// openAlerts returns the subjects of the open alerts for a reason.
func (s *server) openAlerts(reason string) (subjects []string) {
	s.t.Helper()
	var shown struct {
		Alerts []struct{ Subject, Reason string }
	}
	require.NoError(s.t, json.Unmarshal(s.recitalctl("alerts", "--format", "json"), &shown))
	for _, one := range shown.Alerts {
		if one.Reason == reason {
			subjects = append(subjects, one.Subject)
		}
	}
	return subjects
}

// An invoice for the last period's overage that the card does not pay is an alert, is shown to the owner, and is paid
// by a new card.
func TestTheLastOverageIsPaidByANewCard(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	b := openPaymentProvider(t)
	s := b.serve(dataFolder(t))
	c := b.pastItsPlan(s)
	b.replacesCard(c, "pm_card_chargeCustomerFail")
	var answer map[string]any
	c.succeeds(t, "cancel", order{}, &answer)
	b.untilNext(c.id)
	owed := func() string {
		last := c.billing(t).Invoices[0]
		return fmt.Sprintf("%d cents, %s", last.AmountDue, last.Status)
	}
	s.eventually(func() (billed bool) {
		eachEvent(t, s.node(), func(e eventlog.Decoded) {
			_, is := e.Event.(ledger.OverageBilled)
			billed = billed || is
		})
		return billed
	})
	require.NoError(t, b.Advance(30*24*time.Hour)) // the invoice becomes final, and is tried four times
	s.eventually(func() bool { return owed() == "80 cents, open" && len(s.openAlerts("uncollected")) == 1 })
	require.Equal(t, plan.Free, c.account(t).Plan.Type)
	require.Equal(t, []int64{1000}, b.charged(b.customers(c.id)[0]))

	b.replacesCard(c, "pm_card_mastercard")
	s.eventually(func() bool { return owed() == "80 cents, paid" && len(s.openAlerts("uncollected")) == 0 })
	require.Equal(t, []int64{1000, pastCosts}, b.charged(b.customers(c.id)[0]))
}
