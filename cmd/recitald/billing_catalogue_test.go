package main_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/standins/sandbox"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// post changes an object at the provider, as in its dashboard, and returns the object's id.
func (b *paymentProvider) post(path string, form url.Values) string {
	b.t.Helper()
	request, err := http.NewRequest(http.MethodPost, b.URL()+path, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	request.Header.Set("Authorization", "Bearer "+providerKey)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := requireOK(b.t, do(b.t, request))
	var changed struct{ ID string }
	answer.decode(b.t, &changed)
	return changed.ID
}

func (s *server) onSale(price string) bool {
	return slices.ContainsFunc(s.products(), func(p product) bool { return p.PriceID != nil && *p.PriceID == price })
}

// The products are the provider's prices for our plans. A withdrawn price stays with its subscribers and is not sold
// again.
func TestTheProductsFollowTheProvider(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	b := openPaymentProvider(t)
	s := b.serve(dataFolder(t))
	c, late := s.openAccount("free"), s.openAccount("free")
	b.pays(c.subscribe(t, "indie").ClientSecret, "pm_card_visa")
	c.awaitPlan(t, plan.Indie)

	// when a price for one of our plans is added, and one for none
	price := func(metadata string) url.Values {
		return url.Values{"currency": {"usd"}, "unit_amount": {"2500"}, "recurring[interval]": {"month"},
			"product": {"prod_pro"}, "metadata[plan]": {metadata}}
	}
	foreign := b.post("/v1/prices", price("mansion"))
	added := b.post("/v1/prices", price("pro"))

	// then only the first is on sale
	s.eventually(func() bool { return s.onSale(added) })
	require.False(t, s.onSale(foreign))
	late.refused(t, 404, "subscribe", order{"price_id": foreign}, "There is no such price")

	// when a price is withdrawn, then it is not on sale any more, but its subscribers keep it
	b.post("/v1/prices/"+sandbox.PriceOf("indie"), url.Values{"active": {"false"}})
	s.eventually(func() bool { return !s.onSale(sandbox.PriceOf("indie")) })
	late.refused(t, 400, "subscribe", order{"price_id": sandbox.PriceOf("indie")}, "The price is not on sale any more")
	b.untilNext(c.id)
	c.agrees(t, b, "after a renewal at a price that was withdrawn")
	require.Equal(t, plan.Indie, c.account(t).Plan.Type)
}
