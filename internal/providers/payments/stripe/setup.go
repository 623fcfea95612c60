package stripe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/domain/money"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// Setup is the wanted configuration of an account at the provider.
type Setup struct {
	Endpoint   string           // URL for notices; "" leaves the endpoints unchanged
	SecretLost bool             // an endpoint created by Plan is replaced, because its secret was lost
	Prices     []payments.Price // without ids; a plan's price has the plan in its metadata. Others are not changed
}

// Step is an object that an account has, or will get.
type Step struct {
	Action string `json:"action"` // one of the actions below
	Kind   string `json:"kind"`   // endpoint, product or price
	ID     string `json:"id"`     // "" before it is created
	What   string `json:"what"`

	do func(context.Context, *Step) (secret string, err error)
}

// The actions of steps.
const (
	Keep    = "keep"    // no change is needed
	Create  = "create"  //
	Change  = "change"  //
	Replace = "replace" // deleted and created again
	Decide  = "decide"  // left to a person
)

// Changes reports whether the step changes something.
func (s *Step) Changes() bool { return s.do != nil }

// HasSecret reports whether the step returns the secret of an endpoint, which is shown only once.
func (s *Step) HasSecret() bool {
	return s.Kind == kindEndpoint && (s.Action == Create || s.Action == Replace)
}

// Do carries out the step, and returns the secret of a created endpoint. Steps must be carried out in order.
func (s *Step) Do(ctx context.Context) (secret string, err error) { return s.do(ctx, s) }

const kindEndpoint, kindProduct, kindPrice = "endpoint", "product", "price"

// metaMadeBy marks endpoints that Plan has created.
const metaMadeBy, madeBy = "made_by", "recitalctl"

// Plan returns the account's configuration and the steps to the wanted one. It has no effect.
func (g *Gateway) Plan(ctx context.Context, want Setup) ([]*Step, error) {
	var steps []*Step
	if want.Endpoint != "" {
		endpoints, err := g.endpoints(ctx, want.Endpoint)
		if err != nil {
			return nil, err
		}
		steps = g.planEndpoints(want, endpoints)
	}
	if len(want.Prices) == 0 {
		return steps, nil
	}
	offers, err := g.offers(ctx)
	if err != nil {
		return nil, err
	}
	return append(steps, g.planPrices(want.Prices, offers)...), nil
}

// endpoints returns the endpoints with a URL.
func (g *Gateway) endpoints(ctx context.Context, url string) ([]*stripe.WebhookEndpoint, error) {
	return list(ctx, g, g.api.V1WebhookEndpoints.List(ctx, &stripe.WebhookEndpointListParams{ListParams: pages}), all,
		func(e *stripe.WebhookEndpoint) bool { return e.URL == url })
}

func (g *Gateway) planEndpoints(want Setup, there []*stripe.WebhookEndpoint) (steps []*Step) {
	if len(there) == 0 {
		return []*Step{{Action: Create, Kind: kindEndpoint, What: fmt.Sprintf("%s, %d types of events, version %s",
			want.Endpoint, len(followed), stripe.APIVersion), do: g.createEndpoint(want.Endpoint)}}
	}
	for i, e := range there {
		step := &Step{Action: Keep, Kind: kindEndpoint, ID: e.ID, What: e.URL}
		lacks := lacking(e)
		switch {
		case want.SecretLost && e.Metadata[metaMadeBy] == madeBy:
			step.Action, step.do = Replace, g.replaceEndpoint(e)
			step.What += ", because its secret was not kept"
		case lacks != "":
			step.Action, step.do = Change, g.changeEndpoint(e)
			step.What += ": " + lacks
		case i > 0:
			step.Action = Decide
			step.What += ": every notice is sent once more for it; delete one of the two there"
		}
		steps = append(steps, step)
	}
	return steps
}

// lacking returns the flaw of an endpoint, or "".
func lacking(e *stripe.WebhookEndpoint) string {
	missing := missingEvents(e)
	switch {
	case e.Status != "enabled":
		return "it is " + e.Status
	case len(missing) > 3:
		return fmt.Sprintf("it does not send %d types of events", len(missing))
	case len(missing) > 0:
		return "it does not send " + strings.Join(missing, ", ")
	}
	return ""
}

func missingEvents(e *stripe.WebhookEndpoint) (missing []string) {
	if slices.Contains(e.EnabledEvents, "*") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(followed), func(kind string) bool {
		return slices.Contains(e.EnabledEvents, kind)
	})
}

func (g *Gateway) createEndpoint(url string) func(context.Context, *Step) (string, error) {
	return func(ctx context.Context, s *Step) (string, error) {
		made, err := read(ctx, g, func() (*stripe.WebhookEndpoint, error) {
			return g.api.V1WebhookEndpoints.Create(ctx, &stripe.WebhookEndpointCreateParams{
				URL: &url, APIVersion: stripe.String(stripe.APIVersion), EnabledEvents: stripe.StringSlice(followed),
				Metadata: map[string]string{metaMadeBy: madeBy}, Description: stripe.String("Recital"),
			})
		})
		if err != nil {
			return "", err
		}
		s.ID = made.ID
		return made.Secret, nil
	}
}

func (g *Gateway) replaceEndpoint(e *stripe.WebhookEndpoint) func(context.Context, *Step) (string, error) {
	return func(ctx context.Context, s *Step) (string, error) {
		_, err := read(ctx, g, func() (*stripe.WebhookEndpoint, error) {
			return g.api.V1WebhookEndpoints.Delete(ctx, e.ID, nil)
		})
		if err != nil {
			return "", err
		}
		return g.createEndpoint(e.URL)(ctx, s)
	}
}

// changeEndpoint adds missing events, and removes none.
func (g *Gateway) changeEndpoint(e *stripe.WebhookEndpoint) func(context.Context, *Step) (string, error) {
	return func(ctx context.Context, _ *Step) (string, error) {
		params := &stripe.WebhookEndpointUpdateParams{
			Disabled:      stripe.Bool(false),
			EnabledEvents: stripe.StringSlice(append(slices.Clone(e.EnabledEvents), missingEvents(e)...)),
		}
		return "", done(read(ctx, g, func() (*stripe.WebhookEndpoint, error) {
			return g.api.V1WebhookEndpoints.Update(ctx, e.ID, params)
		}))
	}
}

// offers holds the account's products and prices of our plans, including those no longer on sale.
type offers struct {
	products []*stripe.Product
	prices   []*stripe.Price
}

func (g *Gateway) offers(ctx context.Context) (s offers, err error) {
	s.products, err = list(ctx, g, g.api.V1Products.List(ctx, &stripe.ProductListParams{ListParams: pages}), all,
		func(p *stripe.Product) bool { return p.Metadata[payments.MetadataPlan] != "" })
	if err != nil {
		return s, err
	}
	params := &stripe.PriceListParams{ListParams: pages, Expand: stripe.StringSlice([]string{"data.product"})}
	s.prices, err = list(ctx, g, g.api.V1Prices.List(ctx, params), all, func(p *stripe.Price) bool {
		return p.Product != nil && price(p).Metadata[payments.MetadataPlan] != "" && isMonthly(p)
	})
	return s, err
}

// product returns the product of a plan, preferably one on sale, or nil.
func (s offers) product(plan string) (found *stripe.Product) {
	for _, p := range s.products {
		if p.Metadata[payments.MetadataPlan] == plan && (found == nil || p.Active && !found.Active) {
			found = p
		}
	}
	return found
}

// price returns a price of a product with an amount, preferably one on sale, or nil.
func (s offers) price(product string, wanted payments.Price) (found *stripe.Price) {
	for _, p := range s.prices {
		if p.Product.ID == product && p.UnitAmount == wanted.Amount && string(p.Currency) == wanted.Currency &&
			(found == nil || p.Active && !found.Active) {
			found = p
		}
	}
	return found
}

func (g *Gateway) planPrices(wanted []payments.Price, existing offers) (steps []*Step) {
	products, kept := map[string]*Step{}, map[string]bool{}
	for _, w := range wanted {
		plan := w.Metadata[payments.MetadataPlan]
		if products[plan] == nil {
			products[plan] = g.planProduct(plan, w.Product, existing.product(plan))
			steps = append(steps, products[plan])
		}
		known := existing.price(products[plan].ID, w)
		if known != nil {
			kept[known.ID] = true
		}
		steps = append(steps, g.planPrice(w, products[plan], known))
	}
	for _, p := range existing.prices {
		if p.Active && p.Product.Active && !kept[p.ID] {
			steps = append(steps, &Step{Action: Decide, Kind: kindPrice, ID: p.ID,
				What: describe(price(p)) + ": it is on sale, and not in the catalogue; archive it there, or add it"})
		}
	}
	return steps
}

func (g *Gateway) planProduct(plan, name string, there *stripe.Product) *Step {
	step := &Step{Action: Keep, Kind: kindProduct, What: fmt.Sprintf("%s, of plan %s", name, plan)}
	switch {
	case there == nil:
		step.Action, step.do = Create, func(ctx context.Context, s *Step) (string, error) {
			made, err := read(ctx, g, func() (*stripe.Product, error) {
				// the id is unique, so that two concurrent setups do not create two products
				return g.api.V1Products.Create(ctx, &stripe.ProductCreateParams{
					ID: stripe.String("recital_" + plan), Name: &name, Metadata: map[string]string{payments.MetadataPlan: plan},
				})
			})
			if err == nil {
				s.ID = made.ID
			}
			return "", err
		}
		return step
	case !there.Active || there.Name != name:
		step.Action, step.do = Change, func(ctx context.Context, _ *Step) (string, error) {
			return "", done(read(ctx, g, func() (*stripe.Product, error) {
				return g.api.V1Products.Update(ctx, there.ID, &stripe.ProductUpdateParams{Active: stripe.Bool(true), Name: &name})
			}))
		}
	}
	step.ID = there.ID
	return step
}

func (g *Gateway) planPrice(wanted payments.Price, product *Step, there *stripe.Price) *Step {
	step := &Step{Action: Keep, Kind: kindPrice, What: describe(wanted)}
	switch {
	case there == nil:
		step.Action, step.do = Create, g.createPrice(wanted, product)
		return step
	case !there.Active || !hasMetadata(price(there), wanted):
		step.Action, step.do = Change, func(ctx context.Context, _ *Step) (string, error) {
			return "", done(read(ctx, g, func() (*stripe.Price, error) {
				return g.api.V1Prices.Update(ctx, there.ID, &stripe.PriceUpdateParams{
					Active: stripe.Bool(true), Metadata: wanted.Metadata,
				})
			}))
		}
	}
	step.ID = there.ID
	return step
}

func (g *Gateway) createPrice(wanted payments.Price, product *Step) func(context.Context, *Step) (string, error) {
	return func(ctx context.Context, s *Step) (string, error) {
		made, err := read(ctx, g, func() (*stripe.Price, error) {
			return g.api.V1Prices.Create(ctx, &stripe.PriceCreateParams{
				Product: &product.ID, Currency: &wanted.Currency, UnitAmount: &wanted.Amount, Metadata: wanted.Metadata,
				Recurring: &stripe.PriceCreateRecurringParams{
					Interval: stripe.String(string(stripe.PriceRecurringIntervalMonth)),
				},
				// it is unique, so that two concurrent setups do not create two prices
				LookupKey: stripe.String(fmt.Sprintf("%s_%s_%d", product.ID, wanted.Currency, wanted.Amount)),
			})
		})
		if err == nil {
			s.ID = made.ID
		}
		return "", err
	}
}

func hasMetadata(there, wanted payments.Price) bool {
	merged := maps.Clone(there.Metadata)
	maps.Copy(merged, wanted.Metadata)
	return maps.Equal(merged, there.Metadata)
}

// describe returns a price for people.
func describe(p payments.Price) string {
	text := fmt.Sprintf("%s a month, of plan %s", money.Format(p.Amount, p.Currency), p.Metadata[payments.MetadataPlan])
	if unit := p.Metadata[payments.MetadataOverageUnit]; cmp.Or(unit, "0") != "0" {
		text += fmt.Sprintf("; %s thousandths of a minor unit for %s characters past it",
			p.Metadata[payments.MetadataOverageMillis], unit)
	}
	return text
}
