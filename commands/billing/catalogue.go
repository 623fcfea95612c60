package billing

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// ObserveCatalogue records the prices on sale now. It leaves out prices without a plan that can be bought in their
// metadata, and prices of 0: these would need no card, and the usage past the plan would stay unpaid.
func (b *Billing) ObserveCatalogue(ctx context.Context) (eventlog.Position, error) {
	_, position, err := b.observeCatalogue(ctx, journal.System())
	return position, err
}

func (b *Billing) observeCatalogue(
	ctx context.Context, origin journal.Origin,
) (catalogue.State, eventlog.Position, error) {
	prepare := func(catalogue.State) (journal.Decider[catalogue.State, catalogue.Event], error) {
		offered, err := b.Gateway.Prices(ctx)
		if err != nil {
			return nil, unread(err)
		}
		seen := catalogue.Observe{At: b.now()}
		for _, one := range offered {
			if price, ok := priceOf(one); ok {
				seen.Prices = append(seen.Prices, price)
			}
		}
		return seen, nil
	}
	return journal.Execute(ctx, b.Journal, catalogueStream(), journal.Prepare(prepare),
		origin.Metadata(uuid.New(), b.now()))
}

func (b *Billing) catalogue(ctx context.Context) (catalogue.State, error) {
	state, _, err := journal.Load(ctx, b.Journal, catalogueStream())
	return state, err
}

// priceOf converts a price of the provider into one of the catalogue. Without valid metadata, characters past the plan
// are free.
func priceOf(one payments.Price) (catalogue.Price, bool) {
	named, err := plan.Lookup(plan.Type(one.Metadata[payments.MetadataPlan]))
	if err != nil || named.Type == plan.Free || one.Amount <= 0 {
		return catalogue.Price{}, false
	}
	price := catalogue.Price{ID: one.ID, Name: one.Product, Plan: named.Type, Amount: one.Amount, Currency: one.Currency}
	millis, unit := count(one.Metadata[payments.MetadataOverageMillis]), count(one.Metadata[payments.MetadataOverageUnit])
	if millis > 0 && unit > 0 {
		price.OverageMillis, price.OverageUnit = millis, unit
	}
	return price, true
}

// count parses a number in metadata. It returns 0 for other text.
func count(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return n
}
