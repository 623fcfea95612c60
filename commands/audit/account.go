package audit

import (
	"context"
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/domain/voice"
)

// Account is the state of an account at a time, folded from its streams.
type Account struct {
	account.Facts
	Subscription *subscription.Subscription // the current one; nil for none
	Usage        ledger.State               // of the period; the zero State without usage
	Instant      int                        // places of the plan taken by instant voices
	Professional int
	From         []Seen // streams from which it is folded
}

// Account returns an account as of a time. It refuses with domain.NotFound an account that was not open then.
func (a *Audit) Account(ctx context.Context, id string, at time.Time) (Account, error) {
	owner, err := history[account.State, account.Event]{account.Stream(id), account.Evolve,
		2 * account.SnapshotEvery}.at(ctx, a.journal, at)
	if err != nil {
		return Account{}, err
	}
	if !owner.state.Exists() {
		return Account{}, account.ErrNoAccount
	}
	paid, err := history[subscription.State, subscription.Event]{subscription.Stream(id), subscription.Evolve, 256}.at(ctx,
		a.journal, at)
	if err != nil {
		return Account{}, err
	}
	used, err := a.usage(ctx, owner.state, at)
	if err != nil {
		return Account{}, err
	}
	voices, err := history[roster.State, roster.Event]{roster.Stream(id), roster.Evolve, 256}.at(ctx, a.journal, at)
	if err != nil {
		return Account{}, err
	}
	found := Account{
		Facts: owner.state.Facts, Usage: used.state, Instant: voices.state.Count(voice.Instant),
		Professional: voices.state.Count(voice.Professional),
	}
	for _, seen := range []Seen{owner.Seen, paid.Seen, used.Seen, voices.Seen} {
		if seen.Revision >= 0 {
			found.From = append(found.From, seen)
		}
	}
	if current, running := paid.state.Current(); running {
		found.Subscription = &current
	}
	return found, nil
}

// usage returns the period of an account at a time. A period that had ended names the start of the next one.
func (a *Audit) usage(ctx context.Context, owner account.State, at time.Time) (past[ledger.State], error) {
	start := owner.Entitlement.At(at).Start
	for {
		of := history[ledger.State, ledger.Event]{ledger.Stream(owner.Account, start), ledger.Evolve,
			2 * ledger.SnapshotEvery}
		found, err := of.at(ctx, a.journal, at)
		next := found.state.NextStart
		if err != nil || !next.After(start) || next.After(at) {
			return found, err
		}
		start = next
	}
}
