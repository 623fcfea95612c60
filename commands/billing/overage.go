package billing

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// BillItem bills the overage of an item of OverageProcess.
func (b *Billing) BillItem(ctx context.Context, item todo.Item) (eventlog.Position, error) {
	version, err := strconv.ParseInt(strings.TrimPrefix(item.ID, item.Stream+"/"), 10, 64)
	if err != nil {
		return eventlog.Position{}, fmt.Errorf("the item %s names no terms: %w", item.ID, err)
	}
	return b.BillOverage(ctx, item.Stream, version, item.Cause)
}

// BillOverage bills the usage of a period past its plan, on the terms of a version of the entitlement, as one item of
// an invoice. Repeating it adds no other item. The cause is the event that ended the terms, or closed the period.
func (b *Billing) BillOverage(
	ctx context.Context, usage string, version int64, cause uuid.UUID,
) (eventlog.Position, error) {
	over, position, err := b.Periods.OverageOn(ctx, usage, version)
	if err != nil || over.Billed {
		return position, err
	}
	billed, err := b.bill(ctx, fmt.Sprintf("%s/%d", usage, version), over, journal.CausedBy(cause))
	if err != nil {
		return eventlog.Position{}, err
	}
	return b.Periods.OverageBilled(ctx, usage, version, billed, cause)
}

// bill adds the overage to an invoice, under a key of its own. A free overage, or one of an account that never bought
// its plan, is billed without an item. If the customer no longer exists, the amount is recorded as lost.
func (b *Billing) bill(
	ctx context.Context, key string, over ledger.PeriodOverage, origin journal.Origin,
) (ledger.Bill, error) {
	state, _, err := b.State(ctx, over.Account)
	if err != nil {
		return ledger.Bill{}, err
	}
	listed, err := b.catalogue(ctx)
	if err != nil {
		return ledger.Bill{}, err
	}
	price, _ := listed.Find(state.PriceOf(over.Plan))
	cost := price.Overage(over.Characters)
	billed := ledger.Bill{Units: cost.Units, Amount: cost.Amount, Currency: cost.Currency}
	switch {
	case cost.Amount == 0:
		return billed, nil
	case state.Customer == "":
		return billed, b.lose(ctx, state, payments.AddedItem{Usage: key, Characters: over.Characters, Amount: cost.Amount,
			Currency: cost.Currency}, subscription.NoCustomer, origin)
	}
	attempt := payments.Attempt{ID: journal.DeriveID(key, "overage").String(), First: over.At}
	billed.Item, err = b.Gateway.AddInvoiceItem(ctx, attempt, payments.InvoiceItem{
		Customer: state.Customer, Subscription: state.Payer(), Amount: cost.Amount, Currency: cost.Currency,
		Description: description(price.Price, over, cost), Usage: key,
		Characters: over.Characters,
	})
	if _, found := state.Current(); err != nil || found {
		return billed, refusal(err)
	}
	return billed, b.loseRest(ctx, state, origin)
}

// description returns the text of an invoice item, for the customer.
func description(p catalogue.Price, over ledger.PeriodOverage, cost catalogue.Overage) string {
	return fmt.Sprintf("%d characters past the plan %s, %s to %s (%d units of %d characters)",
		over.Characters, p.Name, over.Start.UTC().Format(time.DateOnly), over.End.UTC().Format(time.DateOnly), cost.Units,
		p.OverageUnit)
}
