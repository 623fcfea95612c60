package stripe

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/domain/money"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// Prices implements payments.Gateway.
func (g *Gateway) Prices(ctx context.Context) ([]payments.Price, error) {
	params := &stripe.PriceListParams{
		ListParams: pages, Active: stripe.Bool(true), Type: stripe.String(string(stripe.PriceTypeRecurring)),
		Recurring: &stripe.PriceListRecurringParams{Interval: stripe.String(string(stripe.PriceRecurringIntervalMonth))},
		Expand:    stripe.StringSlice([]string{"data.product"}),
	}
	onSale, err := list(ctx, g, g.api.V1Prices.List(ctx, params), all, isOnSale)
	var prices []payments.Price
	for _, p := range onSale {
		prices = append(prices, price(p))
	}
	return prices, err
}

// isOnSale reports whether a price is on sale: monthly, with one amount.
func isOnSale(p *stripe.Price) bool {
	return isMonthly(p) && p.Active && p.Product != nil && p.Product.Active
}

func isMonthly(p *stripe.Price) bool {
	return p.Recurring != nil && p.Recurring.Interval == stripe.PriceRecurringIntervalMonth &&
		p.Recurring.IntervalCount == 1 && p.Recurring.UsageType == stripe.PriceRecurringUsageTypeLicensed &&
		p.BillingScheme == stripe.PriceBillingSchemePerUnit
}

func price(p *stripe.Price) payments.Price {
	metadata := map[string]string{}
	maps.Copy(metadata, p.Product.Metadata)
	maps.Copy(metadata, p.Metadata)
	return payments.Price{
		ID: p.ID, Product: p.Product.Name, Amount: p.UnitAmount, Currency: string(p.Currency), Metadata: metadata,
	}
}

// Coupon implements payments.Gateway. An expired coupon gives ErrNotFound.
func (g *Gateway) Coupon(ctx context.Context, id string) (payments.Discount, error) {
	c, err := read(ctx, g, func() (*stripe.Coupon, error) { return g.api.V1Coupons.Retrieve(ctx, id, nil) })
	switch {
	case err != nil:
		return payments.Discount{}, err
	case c.Deleted || !c.Valid:
		return payments.Discount{}, payments.ErrNotFound
	}
	return discount(c), nil
}

func discount(c *stripe.Coupon) payments.Discount {
	return payments.Discount{Name: c.Name, Description: reduction(c) + extent(c)}
}

func reduction(c *stripe.Coupon) string {
	if c.PercentOff != 0 {
		return strconv.FormatFloat(c.PercentOff, 'f', -1, 64) + " % off"
	}
	return money.Format(c.AmountOff, string(c.Currency)) + " off"
}

func extent(c *stripe.Coupon) string {
	switch {
	case c.Duration == stripe.CouponDurationOnce:
		return " the first invoice"
	case c.Duration == stripe.CouponDurationRepeating && c.DurationInMonths == 1:
		return " for a month"
	case c.Duration == stripe.CouponDurationRepeating:
		return fmt.Sprintf(" for %d months", c.DurationInMonths)
	}
	return ""
}
