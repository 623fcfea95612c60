package ledger

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// ExpiryProcess is the name of the to-do list of reservations that were not settled. The next command on a period ends
// them, too, with the same events.
const ExpiryProcess = "expiry"

// Expire ends the reservations of a period that have been open for too long, and returns the position of the period's
// last event. If this instance has not seen the given reservation open for long enough, the error is a
// *todo.NotYetError: the list uses the wall clock, which may have jumped, and this instance may have started after the
// reserving one.
func (l *Ledger) Expire(ctx context.Context, stream, reservation string) (eventlog.Position, error) {
	now := l.now().UTC()
	done, err := l.look(ctx, stream, now)
	if err != nil {
		return done.position, err
	}
	expiry := l.expiry(l.seen.of(stream), now)
	for _, r := range done.state.Open {
		if r.ID == reservation {
			return done.position, &todo.NotYetError{After: expiry.Left(r)}
		}
	}
	return done.position, nil
}

// Watch reads a period, and records when this instance has first seen its open reservations, so that reservations of a
// crashed instance expire sooner.
func (l *Ledger) Watch(ctx context.Context, stream string) error {
	_, err := l.look(ctx, stream, l.now().UTC())
	return err
}

func (l *Ledger) expiry(seen map[string]time.Duration, at time.Time) ledger.Expire {
	return ledger.Expire{Seen: seen, Now: l.seen.elapsed(), At: at}
}

// expiryMetadata returns the metadata of the command that ends a reservation. Its cause is the reserving command, which
// has the reservation's id.
func expiryMetadata(reservation string, at time.Time) journal.Metadata {
	cause, err := uuid.Parse(reservation)
	if err != nil { // no ledger creates such an id; the expiry's id is derived nevertheless
		cause = journal.DeriveID("", reservation)
	}
	return journal.CausedBy(cause).Metadata(todo.CommandID(ExpiryProcess, reservation, cause), at)
}
