package billing

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// BillOverage closes a period of the ledger and bills what it has used past its plan: one item on the next invoice,
// however often it is repeated. The cause is the event that put the period on the list. It returns a *todo.NotYetError
// while reservations are open in the period.
func (b *Billing) BillOverage(ctx context.Context, usage string, cause uuid.UUID) (eventlog.Position, error) {
	over, err := b.Periods.ClosePeriod(ctx, usage, cause)
	if err != nil || over.Billed {
		return over.Position, err
	}
	billed, err := b.bill(ctx, usage, over)
	if err != nil {
		return eventlog.Position{}, err
	}
	return b.Periods.OverageBilled(ctx, usage, billed, cause)
}

// bill adds the item to the customer's next invoice. What comes to nothing, and what an account has used that never
// bought its plan, is billed with no item.
func (b *Billing) bill(ctx context.Context, usage string, over Overage) (Billed, error) {
	state, _, err := b.State(ctx, over.Account)
	if err != nil {
		return Billed{}, err
	}
	listed, err := b.catalogue(ctx)
	if err != nil {
		return Billed{}, err
	}
	price, _ := listed.Find(state.PriceOf(over.Plan))
	cost := price.Overage(over.Characters)
	billed := Billed{Units: cost.Units, Amount: cost.Amount, Currency: cost.Currency}
	if cost.Amount == 0 || state.Customer == "" {
		return billed, nil
	}
	billed.Item, err = b.Gateway.AddInvoiceItem(ctx, payments.Attempt{ID: journal.DeriveID(usage, "overage").String(), First: over.ClosedAt}, payments.InvoiceItem{
		Customer: state.Customer, Subscription: state.Payer(), Amount: cost.Amount, Currency: cost.Currency,
		Description: description(price.Price, over, cost), Usage: usage,
	})
	return billed, refusal(err)
}

// description is a line of an invoice, for the customer.
func description(p catalogue.Price, over Overage, cost catalogue.Overage) string {
	return fmt.Sprintf("%d characters past the plan %s, %s to %s (%d units of %d characters)",
		over.Characters, p.Name, over.Start.UTC().Format(time.DateOnly), over.End.UTC().Format(time.DateOnly), cost.Units, p.OverageUnit)
}
