package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// CloseProcess is the name of the to-do list of ended periods on metered plans that are to be closed.
const CloseProcess = "close_period"

// afterOpen is the pause of a period with open reservations.
const afterOpen = 30 * time.Second

// ClosePeriod closes an ended period, given by its stream, and returns the position of the event. Closing it again has
// no effect. While reservations are open the error is a *todo.NotYetError. Further errors: domain.NotFound,
// domain.Conflict for a period that has not ended.
func (l *Ledger) ClosePeriod(ctx context.Context, stream string, cause uuid.UUID) (eventlog.Position, error) {
	now := l.now().UTC()
	seen, err := l.look(ctx, stream, now)
	if err != nil {
		return eventlog.Position{}, err
	}
	if !seen.state.Exists() {
		return eventlog.Position{}, errNoPeriod
	}
	next, err := l.periodAt(ctx, seen.state.Terms.Account, now)
	if err != nil {
		return eventlog.Position{}, err
	}
	meta := journal.CausedBy(cause).Metadata(journal.DeriveID(stream, "closed"), now)
	done, err := l.submit(ctx, stream, ledger.Close{To: next.open.Start, At: now}, meta)
	if err == nil && !done.state.Closed() {
		err = &todo.NotYetError{After: afterOpen}
	}
	return done.position, err
}

var errNoPeriod = domain.Refuse(domain.NotFound, "The period does not exist")

// OverageOn returns the overage of a period, given by its stream, on the terms of a version of the entitlement, and the
// position of the period's last event. It refuses with domain.NotFound if there is none.
func (l *Ledger) OverageOn(
	ctx context.Context, stream string, version int64,
) (ledger.PeriodOverage, eventlog.Position, error) {
	seen, err := l.look(ctx, stream, l.now().UTC())
	if err != nil {
		return ledger.PeriodOverage{}, eventlog.Position{}, err
	}
	o, found := seen.state.OverageOn(version)
	if !found {
		return ledger.PeriodOverage{}, eventlog.Position{}, errNoPeriod
	}
	terms := seen.state.Terms
	over := ledger.PeriodOverage{
		Account: terms.Account, Plan: o.Plan, Start: terms.Start, End: terms.End, Characters: o.Characters, At: o.At,
		Billed: o.Billed,
	}
	if o.At.Before(over.End) {
		over.End = o.At
	}
	return over, seen.position, nil
}

// OverageBilled records that the overage on the terms of a version of the entitlement is billed. Recording it again has
// no effect.
func (l *Ledger) OverageBilled(
	ctx context.Context, stream string, version int64, b ledger.Bill, cause uuid.UUID,
) (eventlog.Position, error) {
	now := l.now().UTC()
	record := ledger.RecordBilled{
		Version: version, Units: b.Units, Amount: b.Amount, Currency: b.Currency, Item: b.Item, At: now,
	}
	meta := journal.CausedBy(cause).Metadata(journal.DeriveID(stream, fmt.Sprint("billed ", version)), now)
	done, err := l.submit(ctx, stream, record, meta)
	return done.position, err
}
