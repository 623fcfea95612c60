package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// CreditProcess is the name of the to-do list of periods that are over, and with credit to be carried to the account's
// current period.
const CreditProcess = "credit"

// GrantedCredit is the result of GrantCredit.
type GrantedCredit struct {
	Grant      string
	Characters int64
	Left       int64 // of all the account's credit, in characters
	Position   eventlog.Position
}

// GrantCredit grants an account credit in its current period. It has no effect if the account already has a grant with
// that id in this period or the one before; if its characters differ, the error is ledger.ErrOtherGrant. An empty id is
// replaced by a new one. Further errors: ledger.ErrTooManyGrants, domain.Invalid, domain.NotFound.
func (l *Ledger) GrantCredit(
	ctx context.Context, account, grant string, characters int64, origin journal.Origin,
) (GrantedCredit, error) {
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
	case again: // a repetition across the border of periods
		done, err = l.look(ctx, period.stream, now)
	default:
		// The command id is random, as for settlements: the log must not take the same grant with other characters for a
		// repetition.
		done, err = l.submitNow(ctx, period, ledger.Grant{Grant: grant, Characters: characters, At: now},
			origin.Metadata(uuid.New(), now))
	}
	if err != nil {
		return GrantedCredit{}, err
	}
	return GrantedCredit{
		Grant: grant, Characters: characters, Left: before.state.CreditLeft() + done.state.CreditLeft(),
		Position: journal.Later(before.position, done.position),
	}, nil
}

// periodBefore reads the previous period. Its state is empty if there is none.
func (l *Ledger) periodBefore(ctx context.Context, period accountPeriod, now time.Time) (outcome, error) {
	state, err := l.account(ctx, period.open.Account)
	if err != nil {
		return outcome{}, err
	}
	before, found := state.PeriodBefore(plan.Period{Start: period.open.Start})
	if !found {
		return outcome{}, nil
	}
	return l.look(ctx, ledger.Stream(state.Account, before.Start), now)
}

// look reads a period. Due reservations expire.
func (l *Ledger) look(ctx context.Context, stream string, now time.Time) (outcome, error) {
	return l.submit(ctx, stream, look{}, journal.System().Metadata(uuid.New(), now))
}

// CarryCredit ends a period, grants its remaining credit in the account's current period, and returns the position of
// the grant. While reservations are open it has no effect: the list shows the period again when they have ended. The
// credit of a closed account ends with the period.
//
// The two streams cannot be written in one append. So the end of the old period records the amount and the new period,
// and the id of the grant derives from the old period: both can be repeated, and take effect once.
func (l *Ledger) CarryCredit(ctx context.Context, stream string, cause uuid.UUID) (eventlog.Position, error) {
	now := l.now().UTC()
	seen, err := l.look(ctx, stream, now)
	if err != nil {
		return eventlog.Position{}, err
	}
	if !seen.state.Exists() {
		return eventlog.Position{}, errNoPeriod
	}
	owner, err := l.account(ctx, seen.state.Terms.Account)
	if err != nil {
		return eventlog.Position{}, err
	}
	next, err := l.periodOf(ctx, owner, now)
	if err != nil {
		return eventlog.Position{}, err
	}
	ended, err := l.submit(ctx, stream, ledger.Carry{To: next.open.Start, Forfeit: owner.Closed(), At: now},
		journal.CausedBy(cause).Metadata(carryID(stream, next.open.Start), now))
	if err != nil || ended.state.Carried == 0 {
		return ended.position, err
	}
	return l.grantCarried(ctx, ended, now)
}

// grantCarried grants the credit that was carried out of a period.
func (l *Ledger) grantCarried(ctx context.Context, ended outcome, now time.Time) (eventlog.Position, error) {
	from := ended.state.Terms.Start
	to, err := l.periodAfter(ctx, ended.state.Terms.Account, ended.state.CarriedTo, journal.System().Actor)
	if err != nil {
		return eventlog.Position{}, err
	}
	grant := journal.DeriveID(ended.stream, "carried")
	cause := journal.EventID(carryID(ended.stream, ended.state.CarriedTo))
	done, err := l.submitNow(ctx, to, ledger.Grant{Grant: grant.String(), Characters: ended.state.Carried, From: &from,
		At: now},
		journal.CausedBy(cause).Metadata(grant, now))
	return done.position, err
}

// carryID returns the id of the command that ends a period. Instances that disagree on the target of the credit use
// different ids, so that one of them conflicts and learns of the other's decision.
func carryID(stream string, to time.Time) uuid.UUID {
	return journal.DeriveID(stream, fmt.Sprintf("carried to %d", to.Unix()))
}
