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

// Overage is the usage of a period past plan and credit, on the terms of one entitlement.
type Overage struct {
	ledger.Overage
	Account  string
	Start    time.Time         // of the period
	End      time.Time         // of these terms
	Position eventlog.Position // of the last event in the period
}

// OverageOn returns the overage of a period, given by its stream, on the terms of a version of the entitlement. It
// refuses with domain.NotFound if there is none.
func (l *Ledger) OverageOn(ctx context.Context, stream string, version int64) (Overage, error) {
	seen, err := l.look(ctx, stream, l.now().UTC())
	if err != nil {
		return Overage{}, err
	}
	overage, found := seen.state.OverageOn(version)
	if !found {
		return Overage{}, errNoPeriod
	}
	terms := seen.state.Terms
	end := terms.End
	if overage.At.Before(end) {
		end = overage.At
	}
	return Overage{Overage: overage, Account: terms.Account, Start: terms.Start, End: end, Position: seen.position}, nil
}

// Bill is the billing of an overage: whole units, for an amount in minor units of the currency, by an item of the
// payment provider. The item is empty if the overage is free.
type Bill struct {
	Units, Amount  int64
	Currency, Item string
}

// OverageBilled records that the overage on the terms of a version of the entitlement is billed. Recording it again has
// no effect.
func (l *Ledger) OverageBilled(
	ctx context.Context, stream string, version int64, b Bill, cause uuid.UUID,
) (eventlog.Position, error) {
	now := l.now().UTC()
	record := ledger.RecordBilled{
		Version: version, Units: b.Units, Amount: b.Amount, Currency: b.Currency, Item: b.Item, At: now,
	}
	meta := journal.CausedBy(cause).Metadata(journal.DeriveID(stream, fmt.Sprint("billed ", version)), now)
	done, err := l.submit(ctx, stream, record, meta)
	return done.position, err
}
