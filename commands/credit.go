package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/eventlog"
)

// CreditProcess is the name of the to-do list of periods that are over and had credit: what is left of it goes on to the
// account's period of now.
const CreditProcess = "credit"

// GrantedCredit is credit that an operator gave.
type GrantedCredit struct {
	Grant      string
	Characters int64
	Left       int64 // of all credit of the account, in characters
	Position   eventlog.Position
}

// GrantCredit gives an account credit in its period of now. A grant of an id that the account had in this period or the
// one before changes nothing; with other characters it is refused with ledger.ErrOtherGrant. Without an id it gets one,
// and is a grant of its own. Further errors: ledger.ErrTooManyGrants, domain.Invalid, domain.NotFound.
func (l *Ledger) GrantCredit(ctx context.Context, account, grant string, characters int64, actor eventlog.Actor) (GrantedCredit, error) {
	now := l.now().UTC()
	if grant == "" {
		grant = uuid.NewString()
	}
	period, err := l.period(ctx, account, now)
	if err != nil {
		return GrantedCredit{}, err
	}
	before, err := l.periodBefore(ctx, period, now)
	if err != nil {
		return GrantedCredit{}, err
	}
	done := before
	given, again := before.state.GrantOf(grant)
	switch {
	case again && given.Characters != characters:
		return GrantedCredit{}, ledger.ErrOtherGrant
	case again: // a repetition over the border of periods
		done, err = l.look(ctx, period.stream, now)
	default:
		// A command id of its own, as settlements have one: the log must not take the same grant with other characters
		// for a repetition.
		done, err = l.submitNow(ctx, period, task{
			order:    Order{Command: uuid.New(), Actor: actor, At: now},
			commands: []decider[ledger.State, ledger.Event]{ledger.Grant{Grant: grant, Characters: characters, At: now}},
		})
	}
	if err != nil {
		return GrantedCredit{}, err
	}
	return GrantedCredit{
		Grant: grant, Characters: characters, Left: before.state.CreditLeft() + done.state.CreditLeft(),
		Position: later(before.position, done.position),
	}, nil
}

// periodBefore looks at the period before, with nothing in it where there is none.
func (l *Ledger) periodBefore(ctx context.Context, period accountPeriod, now time.Time) (outcome, error) {
	before, err := l.periodAt(ctx, period.open.Account, period.open.Start.Add(-1))
	if err != nil || before.stream == period.stream {
		return outcome{}, err
	}
	return l.look(ctx, before.stream, now)
}

// look reads a period. What is due in it expires.
func (l *Ledger) look(ctx context.Context, stream string, now time.Time) (outcome, error) {
	return l.submit(ctx, stream, task{order: Order{At: now}})
}

func later(a, b eventlog.Position) eventlog.Position {
	if a.Compare(b) > 0 {
		return a
	}
	return b
}

// CarryCredit ends a period, and grants what is left of its credit in the account's period of now. It tells where in the
// log that stands. While reservations are open it does nothing: the list shows the period again when they have ended.
//
// The two streams cannot be written at once. So the end of the old period tells how much goes where, and the grant in the
// other one has an id that follows from the old period: both can be repeated, and happen once.
func (l *Ledger) CarryCredit(ctx context.Context, stream string, cause uuid.UUID) (eventlog.Position, error) {
	now := l.now().UTC()
	seen, err := l.look(ctx, stream, now)
	if err != nil {
		return eventlog.Position{}, err
	}
	if !seen.state.Exists() {
		return eventlog.Position{}, domain.Refuse(domain.NotFound, "the period does not exist")
	}
	next, err := l.period(ctx, seen.state.Terms.Account, now)
	if err != nil {
		return eventlog.Position{}, err
	}
	order := systemOrder(carriage(stream, next.open.Start), now)
	order.Cause = cause
	ended, err := l.submit(ctx, stream, task{
		order:    order,
		commands: []decider[ledger.State, ledger.Event]{ledger.Carry{To: next.open.Start, At: now}},
	})
	if err != nil || ended.state.Carried == 0 {
		return ended.position, err
	}
	return l.grantCarried(ctx, ended, now)
}

// grantCarried grants what was carried out of a period.
func (l *Ledger) grantCarried(ctx context.Context, ended outcome, now time.Time) (eventlog.Position, error) {
	from := ended.state.Terms.Start
	to, err := l.periodAt(ctx, ended.state.Terms.Account, ended.state.CarriedTo)
	if err != nil {
		return eventlog.Position{}, err
	}
	grant := commandFor(ended.stream, "carried")
	order := systemOrder(grant, now)
	order.Cause = eventlog.EventID(carriage(ended.stream, ended.state.CarriedTo), 0)
	done, err := l.submitNow(ctx, to, task{
		order:    order,
		commands: []decider[ledger.State, ledger.Event]{ledger.Grant{Grant: grant.String(), Characters: ended.state.Carried, From: &from, At: now}},
	})
	return done.position, err
}

// carriage is the command that ends a period. Instances that disagree on where to carry its credit give different ids, so
// that one of them conflicts and learns what the other has decided.
func carriage(stream string, to time.Time) uuid.UUID {
	return commandFor(stream, fmt.Sprintf("carried to %d", to.Unix()))
}
