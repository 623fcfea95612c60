package billing

import (
	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

type priceRow struct {
	Price         string `col:"price_id,key"`
	Name          string `col:"name"`
	Plan          string `col:"plan"`
	Amount        int64  `col:"amount"`
	Currency      string `col:"currency"`
	OverageMillis int64  `col:"overage_millis"`
	OverageUnit   int64  `col:"overage_unit"`
	OnSale        bool   `col:"on_sale"`
}

// cataloguesModel is the read model of prices. Those that were withdrawn stay, because subscriptions keep them.
func cataloguesModel() feed.Projection {
	prices := table.Of[priceRow]("prices")
	onSale := table.FieldOf(prices, func(r *priceRow) *bool { return &r.OnSale })
	return feed.Projection{
		Model:   readmodel.Catalogue,
		Streams: eventlog.Streams{catalogue.Stream},
		Tables:  []*table.Table{prices.Table},
		Views: []feed.View{
			{View: readmodel.PricesView, Select: `select price_id, name, plan, amount, currency, overage_millis, overage_unit, on_sale from prices`},
		},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case catalogue.PriceListed:
				prices.Put(rows, priceRow{
					Price: e.ID, Name: e.Name, Plan: string(e.Plan), Amount: e.Amount, Currency: e.Currency,
					OverageMillis: e.OverageMillis, OverageUnit: e.OverageUnit, OnSale: true,
				})
			case catalogue.PriceWithdrawn:
				onSale.Set(rows, priceRow{Price: e.ID}, false)
			}
			return nil
		},
	}
}
