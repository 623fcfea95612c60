package ledger

import (
	"context"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
)

// FreePeriodOf returns the current period and usage of an account on the free plan, even a closed one, with which the
// next account of the same person starts. Open reservations count as used, because the replies of a closed account are
// settled only after they end. For other plans it returns nil.
func (l *Ledger) FreePeriodOf(ctx context.Context, id string) (*account.FreePeriod, error) {
	now := l.now().UTC()
	period, err := l.periodAt(ctx, id, now)
	if err != nil || period.open.Plan.Type != plan.Free {
		return nil, err
	}
	found, err := l.look(ctx, period.stream, now)
	if err != nil {
		return nil, err
	}
	used := period.open.BroughtIn
	if found.state.Exists() {
		used = found.state.Settled + found.state.Reserved
	}
	return &account.FreePeriod{
		Start: period.open.Start, End: period.open.End,
		Used: min(used, period.open.Plan.Characters), // usage paid with credit is not the period's
	}, nil
}
