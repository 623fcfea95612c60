package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// FollowProcess is the name of the to-do list of entitlements that no period follows yet.
const FollowProcess = "follow_entitlement"

// accountPeriod is a period of an account, on the terms of its entitlement.
type accountPeriod struct {
	stream string
	open   ledger.OpenPeriod
}

// period returns the account's current period. It reads the account only if the cached period is over, and then refuses
// a closed account with domain.NotFound.
func (l *Ledger) period(ctx context.Context, id string, now time.Time) (accountPeriod, error) {
	if known, ok := l.periods.Get(id); ok && now.Before(known.open.End) {
		return known, nil
	}
	state, err := l.account(ctx, id)
	if err != nil {
		return accountPeriod{}, err
	}
	if state.Closed() {
		return accountPeriod{}, account.ErrNoAccount
	}
	p, err := l.periodOf(ctx, state, now)
	if err == nil {
		l.periods.Add(id, p)
	}
	return p, err
}

// submitFresh repeats a refused command, if the account's entitlement is newer than the cached period, so that a
// request on a new plan is not refused on the old terms. Otherwise it returns the refusal.
func (l *Ledger) submitFresh(
	ctx context.Context, known accountPeriod, c command, meta journal.Metadata, refusal error,
) (outcome, error) {
	fresh, err := l.periodAt(ctx, known.open.Account, meta.Time)
	if err != nil || fresh.open.Version <= known.open.Version {
		return outcome{}, refusal
	}
	l.periods.Add(known.open.Account, fresh)
	return l.submitNow(ctx, fresh, c, meta)
}

// periodAt reads the account, which may be closed, and returns its period at a time.
func (l *Ledger) periodAt(ctx context.Context, id string, at time.Time) (accountPeriod, error) {
	state, err := l.account(ctx, id)
	if err != nil {
		return accountPeriod{}, err
	}
	return l.periodOf(ctx, state, at)
}

func (l *Ledger) account(ctx context.Context, id string) (account.State, error) {
	state, _, err := l.accounts.State(ctx, id)
	if err == nil && !state.Exists() {
		err = account.ErrNoAccount
	}
	return state, err
}

// periodOf returns the period of an account at a time.
func (l *Ledger) periodOf(ctx context.Context, state account.State, at time.Time) (accountPeriod, error) {
	return l.onTerms(ctx, state, state.Entitlement.At(at), state.Version)
}

// onTerms returns a period of an account on the terms of a version of its entitlement. Periods on the current version
// follow the account's spending cap.
func (l *Ledger) onTerms(
	ctx context.Context, state account.State, p plan.Period, version int64,
) (accountPeriod, error) {
	terms, err := plan.Lookup(p.Plan)
	if err != nil {
		return accountPeriod{}, err
	}
	open := ledger.OpenPeriod{Account: state.Account, Plan: terms, Start: p.Start, End: p.End, Version: version}
	if version == state.Version {
		if open.Cap, open.Rate, err = l.capOf(ctx, state, terms); err != nil {
			return accountPeriod{}, err
		}
	}
	if free := state.FreePeriod; free != nil && free.Start.Equal(p.Start) {
		open.BroughtIn = free.Used
	}
	return accountPeriod{stream: ledger.Stream(state.Account, p.Start), open: open}, nil
}

// submitNow executes a command in a period, which it opens if necessary. If the period has ended, because another
// instance has a clock that is ahead or knows a newer entitlement, it continues with the next one: the log decides, and
// not the clock or the cache. An entitlement or a spending cap that the period does not follow yet comes first, as a
// command of its own, because it is caused by the account's event and not by this command.
func (l *Ledger) submitNow(
	ctx context.Context, period accountPeriod, c command, meta journal.Metadata,
) (outcome, error) {
	for {
		open := period.open
		open.At = meta.Time
		opened := journal.Sequence[ledger.State, ledger.Event]{Evolve: ledger.Evolve, Commands: []command{known{open}, c}}
		done, err := l.submit(ctx, period.stream, opened, meta)
		if errors.Is(err, errNewTerms) || errors.Is(err, errNewCap) {
			if err := l.followTerms(ctx, period.stream, open, err); err != nil {
				return outcome{}, err
			}
			continue
		}
		if !errors.Is(err, ledger.ErrOver) {
			if done.state.Terms.Version > open.Version {
				l.periods.Remove(open.Account)
			}
			return done, err
		}
		next, err := l.periodAfter(ctx, open.Account, done.state.NextStart, meta.Actor)
		if err != nil {
			return outcome{}, err
		}
		if next.stream == period.stream {
			return outcome{}, fmt.Errorf("period %s is followed by one that starts in the same second", period.stream)
		}
		period = next
	}
}

// errNewTerms means that the period must first follow a newer entitlement.
var errNewTerms = errors.New("the period follows an older entitlement")

// known opens a period that no entitlement has caused. In any other case it requires that the period was opened before.
type known struct{ ledger.OpenPeriod }

// Decide implements journal.Decider.
func (c known) Decide(s ledger.State) ([]ledger.Event, error) {
	switch {
	case s.Over():
	case c.Version > s.Terms.Version:
		return nil, errNewTerms
	case s.Exists() && c.Cap.Version > s.Cap.Version:
		return nil, errNewCap
	}
	return c.OpenPeriod.Decide(s)
}

// followTerms puts a period on the terms of an entitlement, or only sets its spending cap.
func (l *Ledger) followTerms(ctx context.Context, stream string, open ledger.OpenPeriod, refusal error) error {
	var follow command = followed{open}
	meant := func(event account.Event) bool {
		given, is := event.(account.Entitled)
		return is && given.Version == open.Version
	}
	if errors.Is(refusal, errNewCap) {
		follow = open
		meant = func(event account.Event) bool {
			set, is := event.(account.SpendingCapSet)
			return is && set.Version == open.Cap.Version
		}
	}
	cause, err := l.accountEvent(ctx, open.Account, meant)
	if err != nil {
		return err
	}
	meta := journal.CausedBy(cause).Metadata(todo.CommandID(FollowProcess, stream, cause), open.At)
	_, err = l.submit(ctx, stream, follow, meta)
	return err
}

// followed puts a period on the terms of an entitlement that it does not follow yet. A spending cap that is newer than
// these has another cause.
type followed struct{ ledger.OpenPeriod }

// Decide implements journal.Decider.
func (c followed) Decide(s ledger.State) ([]ledger.Event, error) {
	if s.Exists() && c.Version <= s.Terms.Version {
		return nil, nil
	}
	return c.OpenPeriod.Decide(s)
}

// periodAfter returns the period in which an account continues after an ended one, with the start that is recorded
// there. It does not depend on later entitlements, so that earlier grants are found. In a closed account only the
// system continues.
func (l *Ledger) periodAfter(
	ctx context.Context, id string, start time.Time, by eventlog.Actor,
) (accountPeriod, error) {
	state, err := l.account(ctx, id)
	if err != nil {
		return accountPeriod{}, err
	}
	l.periods.Remove(id) // the cached period is over
	if state.Closed() && by.Kind != eventlog.ActorSystem {
		return accountPeriod{}, account.ErrNoAccount
	}
	p, version := state.Entitlement.At(start), state.Version
	if i := slices.IndexFunc(state.Before, func(f account.Former) bool { return f.Start.Equal(start) }); i >= 0 {
		return l.onTerms(ctx, state, state.Before[i].Period, 0)
	}
	switch {
	case p.Start.Equal(start):
	case p.Start.After(start): // another entitlement has cut it short, or skipped it
		p.Start, p.End, version = start, p.Start, 0
	default: // it has become part of a longer one
		p.Start = start
	}
	return l.onTerms(ctx, state, p, version)
}

// FollowEntitlement ends the periods that the entitlement of an account, and earlier ones, have cut short or followed,
// and puts the current one on its terms. It returns the position of the latter event. Instances with an older
// entitlement notice it in these streams.
func (l *Ledger) FollowEntitlement(ctx context.Context, id string, cause uuid.UUID) (eventlog.Position, error) {
	now := l.now().UTC()
	state, err := l.account(ctx, id)
	if err != nil {
		return eventlog.Position{}, err
	}
	l.periods.Remove(id)
	for _, before := range state.Before {
		if err := l.end(ctx, state, before, now, cause); err != nil {
			return eventlog.Position{}, err
		}
	}
	current, err := l.periodOf(ctx, state, now)
	if err != nil {
		return eventlog.Position{}, err
	}
	meta := journal.CausedBy(cause).Metadata(todo.CommandID(FollowProcess, current.stream, cause), now)
	done, err := l.submitNow(ctx, current, use{}, meta)
	return done.position, err
}

// end ends a period. If it is cut short and was never opened, it is opened first, so that an instance that is about to
// open it finds that it has ended. A free period that ran to its end needs no event.
func (l *Ledger) end(
	ctx context.Context, state account.State, former account.Former, now time.Time, cause uuid.UUID,
) error {
	p, err := l.onTerms(ctx, state, former.Period, 0)
	if err != nil {
		return err
	}
	if !former.End.After(former.Next) {
		found, err := l.look(ctx, p.stream, now)
		if err != nil || !found.state.Exists() || former.End.Equal(former.Next) && found.state.Terms.Plan == plan.Free {
			return err
		}
	}
	end := journal.Sequence[ledger.State, ledger.Event]{Evolve: ledger.Evolve,
		Commands: []command{p.open, ledger.End{To: former.Next, At: now}}}
	_, err = l.submit(ctx, p.stream, end, journal.CausedBy(cause).Metadata(todo.CommandID(FollowProcess, p.stream, cause),
		now))
	return err
}

// use is a command that continues a period.
type use struct{}

// Decide implements journal.Decider. It refuses a period that is over with ledger.ErrOver.
func (use) Decide(s ledger.State) ([]ledger.Event, error) {
	if s.Over() {
		return nil, ledger.ErrOver
	}
	return nil, nil
}
