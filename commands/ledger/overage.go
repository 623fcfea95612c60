package ledger

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// CloseProcess is the name of the to-do list of periods of metered plans that are over, and not closed.
const CloseProcess = "close_period"

// afterOpen is how long a period rests in which something is reserved.
const afterOpen = 30 * time.Second

// ClosedPeriod is a period in which nothing more is settled.
type ClosedPeriod struct {
	Account    string
	Plan       plan.Type
	Start, End time.Time
	Overage    int64 // characters that exceed plan and credit, of a plan that bills them
	ClosedAt   time.Time
	Billed     bool // the overage is
	Position   eventlog.Position
}

// ClosePeriod closes a period that is over, given by its stream. Closing it again has no effect. While reservations are
// open the error is a *todo.NotYetError. Further errors: domain.NotFound, domain.Conflict for a period that is not
// over.
func (l *Ledger) ClosePeriod(ctx context.Context, stream string, cause uuid.UUID) (ClosedPeriod, error) {
	now := l.now().UTC()
	seen, err := l.look(ctx, stream, now)
	if err != nil {
		return ClosedPeriod{}, err
	}
	if !seen.state.Exists() {
		return ClosedPeriod{}, domain.Refuse(domain.NotFound, "The period does not exist")
	}
	next, err := l.periodAt(ctx, seen.state.Terms.Account, now)
	if err != nil {
		return ClosedPeriod{}, err
	}
	meta := journal.CausedBy(cause).Metadata(journal.DeriveID(stream, "closed"), now)
	done, err := l.submit(ctx, stream, ledger.Close{To: next.open.Start, At: now}, meta)
	switch s := done.state; {
	case err != nil:
		return ClosedPeriod{}, err
	case !s.Closed():
		return ClosedPeriod{}, &todo.NotYetError{After: afterOpen}
	default:
		return ClosedPeriod{
			Account: s.Terms.Account, Plan: s.Terms.Plan, Start: s.Terms.Start, End: s.Terms.End,
			Overage: s.Overage, ClosedAt: s.ClosedAt, Billed: s.Billed, Position: done.position,
		}, nil
	}
}

// Bill is what was billed for the overage of a period: whole units, for an amount in minor units of the currency, by an
// item of the payment provider. The item is empty where there was nothing to pay.
type Bill struct {
	Units, Amount  int64
	Currency, Item string
}

// OverageBilled records that the overage of a closed period is billed. Recording it again has no effect.
func (l *Ledger) OverageBilled(ctx context.Context, stream string, b Bill, cause uuid.UUID) (eventlog.Position, error) {
	now := l.now().UTC()
	record := ledger.RecordBilled{Units: b.Units, Amount: b.Amount, Currency: b.Currency, Item: b.Item, At: now}
	done, err := l.submit(ctx, stream, record, journal.CausedBy(cause).Metadata(journal.DeriveID(stream, "billed"), now))
	return done.position, err
}
