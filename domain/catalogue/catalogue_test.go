package catalogue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/spec"
)

var (
	noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	pro  = catalogue.Price{ID: "price_pro", Name: "Pro", Plan: plan.Pro, Amount: 4900, Currency: "usd",
		OverageMillis: 4500, OverageUnit: 1000}
)

func TestObserve(t *testing.T) {
	type events = []catalogue.Event
	dearer, indie := pro, catalogue.Price{ID: "price_indie", Plan: plan.Indie}
	dearer.Amount = 5900
	listed := func(p catalogue.Price) catalogue.Event { return catalogue.PriceListed{Price: p, At: noon} }
	observe := func(prices ...catalogue.Price) catalogue.Observe { return catalogue.Observe{Prices: prices, At: noon} }
	withdrawn := catalogue.PriceWithdrawn{ID: pro.ID, At: noon}
	spec.Run(t, catalogue.Evolve, []spec.Case[catalogue.State, catalogue.Event]{
		{Name: "a price is listed", When: observe(pro), Then: events{listed(pro)}},
		{Name: "once", Given: events{listed(pro)}, When: observe(pro)},
		{Name: "again if it has changed", Given: events{listed(pro)}, When: observe(dearer), Then: events{listed(dearer)}},
		{Name: "one that is not on sale is withdrawn", Given: events{listed(pro), listed(indie)}, When: observe(indie),
			Then: events{withdrawn}},
		{Name: "once, too", Given: events{listed(pro), withdrawn}, When: observe()},
		{Name: "it comes back", Given: events{listed(pro), withdrawn}, When: observe(pro), Then: events{listed(pro)}},
	})
	t.Run("a withdrawn price is known", func(t *testing.T) {
		known, found := spec.Fold(catalogue.Evolve, events{listed(pro), withdrawn}).Find(pro.ID)
		require.True(t, found)
		require.Equal(t, catalogue.Listing{Price: pro}, known)
	})
}

func TestOverage(t *testing.T) {
	premium, free := pro, pro
	premium.OverageMillis, free.OverageUnit = 3500, 0
	for _, c := range []struct {
		price         catalogue.Price
		characters    int64
		units, amount int64
	}{
		{pro, 0, 0, 0},
		{pro, 999, 0, 0},
		{pro, 1000, 1, 4}, // 4.5 cents
		{pro, 1999, 1, 4},
		{pro, 2000, 2, 9},
		{premium, 1_000_000, 1000, 3500},
		{free, 1_000_000, 0, 0},
		{pro, -5000, 0, 0},
	} {
		require.Equal(t, catalogue.Overage{Units: c.units, Amount: c.amount, Currency: "usd"}, c.price.Overage(c.characters),
			"%+v", c)
	}
}
