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
)

// post changes something at the provider, as its owner does there, and returns the id of what was changed.
func (b *till) post(path string, form url.Values) string {
	b.t.Helper()
	request, err := http.NewRequest(http.MethodPost, b.URL()+path, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	request.Header.Set("Authorization", "Bearer "+tillKey)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := do(b.t, request)
	require.Equal(b.t, 200, answer.status, answer.text())
	var changed struct{ ID string }
	answer.decode(b.t, &changed)
	return changed.ID
}

func (s *server) onSale(price string) bool {
	return slices.ContainsFunc(s.products(), func(p product) bool { return p.PriceID != nil && *p.PriceID == price })
}

// What is on sale is what the provider sells of our plans. A price that is withdrawn is kept by who has it, and is
// nobody else's any more.
func TestTheProductsFollowTheProvider(t *testing.T) {
	if testing.Short() {
		t.Skip("one of the longest scenarios")
	}
	t.Parallel()
	b := openTill(t)
	s := b.serve(dataFolder(t))
	c, late := s.openAccount("free"), s.openAccount("free")
	b.pays(c.subscribe(t, "indie").ClientSecret, "pm_card_visa")
	c.awaitPlan(t, plan.Indie)

	// when a price is added that names a plan of ours, and one that names none
	price := func(metadata string) url.Values {
		return url.Values{"currency": {"usd"}, "unit_amount": {"2500"}, "recurring[interval]": {"month"},
			"product": {"prod_pro"}, "metadata[plan]": {metadata}}
	}
	foreign := b.post("/v1/prices", price("mansion"))
	added := b.post("/v1/prices", price("pro"))

	// then the one is on sale, and the other is not
	s.eventually(func() bool { return s.onSale(added) })
	require.False(t, s.onSale(foreign))
	late.refused(t, 404, "subscribe", order{"price_id": foreign}, "There is no such price")

	// when a price is withdrawn, then it is not on sale any more, and who has it keeps it
	b.post("/v1/prices/"+sandbox.PriceOf("indie"), url.Values{"active": {"false"}})
	s.eventually(func() bool { return !s.onSale(sandbox.PriceOf("indie")) })
	late.refused(t, 400, "subscribe", order{"price_id": sandbox.PriceOf("indie")}, "The price is not on sale any more")
	b.untilNext(c.id)
	c.agrees(t, b, "after a renewal at a price that was withdrawn")
	require.Equal(t, plan.Indie, c.shownPlan(t).Plan.Type)
}
