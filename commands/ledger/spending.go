package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// FollowCapProcess is the name of the to-do list of spending caps that no period follows yet.
const FollowCapProcess = "follow_spending_cap"

// Rates returns an account's rate for characters past a plan: the zero Rate if they are not billed.
type Rates func(ctx context.Context, account string, t plan.Type) (plan.Rate, error)

// PriceBy sets the prices of characters past plans. It is called before the first reservation. By default they are
// free, and no spending cap can be set.
func (l *Ledger) PriceBy(rates Rates) { l.rates = rates }

func noRates(context.Context, string, plan.Type) (plan.Rate, error) { return plan.Rate{}, nil }

// ErrNoOverage refuses a spending cap for an account on a plan that bills no characters past it.
var ErrNoOverage error = domain.Refuse(domain.Rejected,
	"The plan does not bill characters past it, so that there is nothing to cap")

// SpendingCap is the result of SetSpendingCap.
type SpendingCap struct {
	plan.SpendingCap
	Position eventlog.Position
}

// SetSpendingCap bounds the price of an account's characters past its plan in a period, in minor units of the plan's
// currency; nil removes the bound. The current period follows it before SetSpendingCap returns, on every instance.
// Errors: ErrNoOverage, domain.Invalid, domain.NotFound.
func (l *Ledger) SetSpendingCap(
	ctx context.Context, id string, amount *int64, origin journal.Origin,
) (SpendingCap, error) {
	currency, err := l.currencyOf(ctx, id, amount != nil)
	if err != nil {
		return SpendingCap{}, err
	}
	if err := l.accounts.SetSpendingCap(ctx, id, amount, currency, origin); err != nil {
		return SpendingCap{}, err
	}
	l.periods.Remove(id)
	now := l.now().UTC()
	period, err := l.period(ctx, id, now)
	if err != nil {
		return SpendingCap{}, err
	}
	done, err := l.submitNow(ctx, period, use{}, origin.Metadata(uuid.New(), now))
	return SpendingCap{SpendingCap: done.state.Cap, Position: done.position}, err
}

// currencyOf returns the currency in which an account pays for characters past its plan, if it is needed.
func (l *Ledger) currencyOf(ctx context.Context, id string, needed bool) (string, error) {
	if !needed {
		return "", nil
	}
	state, err := l.account(ctx, id)
	if err != nil {
		return "", err
	}
	terms, err := plan.Lookup(state.Entitlement.At(l.now().UTC()).Plan)
	if err != nil {
		return "", err
	}
	rate, err := l.rateOf(ctx, id, terms)
	if err == nil && rate == (plan.Rate{}) {
		err = ErrNoOverage
	}
	return rate.Currency, err
}

// rateOf returns the zero Rate for a plan without overage.
func (l *Ledger) rateOf(ctx context.Context, id string, terms plan.Plan) (plan.Rate, error) {
	if !terms.Metered {
		return plan.Rate{}, nil
	}
	rate, err := l.rates(ctx, id, terms.Type)
	if rate.Unit <= 0 || rate.Millis <= 0 {
		rate = plan.Rate{}
	}
	return rate, err
}

// capOf returns the spending cap of an account, and the rate of its plan, which is read only if there is a cap.
func (l *Ledger) capOf(ctx context.Context, state account.State, terms plan.Plan) (plan.SpendingCap, plan.Rate, error) {
	if state.SpendingCap.Amount == nil {
		return state.SpendingCap, plan.Rate{}, nil
	}
	rate, err := l.rateOf(ctx, state.Account, terms)
	return state.SpendingCap, rate, err
}

// errNewCap means that the period must first follow a newer spending cap.
var errNewCap = errors.New("the period follows an older spending cap")

// accountEvent returns the id of the newest event of an account for which meant reports true.
func (l *Ledger) accountEvent(ctx context.Context, id string, meant func(account.Event) bool) (uuid.UUID, error) {
	for recorded, err := range l.journal.Log.ReadStreamBackwards(ctx, account.Stream(id)) {
		if err != nil {
			return uuid.UUID{}, fmt.Errorf("reading the terms of an account: %w", err)
		}
		decoded, err := l.journal.Registry.Decode(recorded)
		if err != nil {
			continue // written by another release
		}
		if event, is := decoded.Event.(account.Event); is && meant(event) {
			return recorded.ID, nil
		}
	}
	return uuid.UUID{}, fmt.Errorf("account %s has no event for its terms", id)
}
