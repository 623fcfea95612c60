package billing

import (
	"context"

	"github.com/recital-tts/recital/domain/plan"
)

// RateOf returns an account's rate for characters past a plan, which is the rate of the price at which it bought the
// plan, as in BillOverage. It is zero for a plan that the account never bought.
func (b *Billing) RateOf(ctx context.Context, account string, t plan.Type) (plan.Rate, error) {
	state, _, err := b.State(ctx, account)
	if err != nil {
		return plan.Rate{}, err
	}
	listed, err := b.catalogue(ctx)
	if err != nil {
		return plan.Rate{}, err
	}
	price, _ := listed.Find(state.PriceOf(t))
	return price.Rate(), nil
}
