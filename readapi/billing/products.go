package billing

import (
	"fmt"

	"github.com/recital-tts/recital/domain/money"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

type product struct {
	Name               string   `json:"name" doc:"The name of the plan, for people."`
	PriceID            *string  `json:"price_id" doc:"The id to subscribe with."`
	MonthlyCost        *int64   `json:"monthly_cost" ge:"0" doc:"The amount in whole units of the currency, such as dollars; null if it is not a whole number."`
	Amount             int64    `json:"amount" ge:"0" doc:"The monthly price, in minor units of the currency."`
	Currency           *string  `json:"currency" doc:"The currency, in the three letters of ISO 4217, in lower case; null for a free plan."`
	AdditionalUnitCost *float64 `json:"additional_unit_cost" ge:"0" doc:"of chars_per_unit characters past char_limit, in units of the currency"`
	CharLimit          *int64   `json:"char_limit" ge:"0" doc:"characters in a month"`
	CharsPerUnit       *int64   `json:"chars_per_unit" ge:"0" doc:"The number of characters for additional_unit_cost."`
}

var onSale = readapi.From(readmodel.PricesView, `where on_sale order by currency, amount, price_id`,
	"reading the prices")

func (a *API) products(call *web.Call, _ struct{}) (web.Reply, error) {
	prices, err := onSale.Read(call, a.Models)
	if err != nil {
		return web.Reply{}, err
	}
	all := []product{freeProduct()}
	for _, price := range prices {
		one, err := productOf(price)
		if err != nil {
			return web.Reply{}, err
		}
		all = append(all, one)
	}
	return web.JSON(all), nil
}

// freeProduct returns the free plan.
func freeProduct() product {
	free, _ := plan.Lookup(plan.Free) // it exists
	return product{Name: "Free", MonthlyCost: new(int64(0)), CharLimit: &free.Characters}
}

func productOf(r readmodel.PriceRow) (product, error) {
	includes, err := plan.Lookup(plan.Type(r.Plan))
	if err != nil {
		return product{}, fmt.Errorf("reading the price %s: %w", r.Price, err)
	}
	minor := money.MinorUnits(r.Currency)
	p := product{Name: r.Name, PriceID: &r.Price, Amount: r.Amount, Currency: &r.Currency}
	if r.Amount%minor == 0 {
		p.MonthlyCost = new(r.Amount / minor)
	}
	if !includes.Unlimited {
		p.CharLimit = &includes.Characters
	}
	if r.OverageUnit > 0 {
		p.AdditionalUnitCost, p.CharsPerUnit = new(float64(r.OverageMillis)/float64(1000*minor)), &r.OverageUnit
	}
	return p, nil
}
