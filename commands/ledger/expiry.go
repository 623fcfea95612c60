package ledger

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/todo"
)

// ExpiryProcess is the name of the to-do list of reservations that were not settled. The next command on a period
// ends them, too; both write the same events.
const ExpiryProcess = "expiry"

// Expire ends the reservations of a period that are due, and returns the position of the period's last event.
func (l *Ledger) Expire(ctx context.Context, stream string) (eventlog.Position, error) {
	done, err := l.look(ctx, stream, l.now().UTC())
	return done.position, err
}

// expiryMetadata returns the metadata of the command that ends a reservation. Its cause is the command that reserved,
// whose id is that of the reservation.
func expiryMetadata(reservation string, at time.Time) eventlog.Metadata {
	cause, err := uuid.Parse(reservation)
	if err != nil { // no ledger creates such an id; its expiry is derived all the same
		cause = journal.DeriveID("", reservation)
	}
	return journal.CausedBy(cause).Metadata(todo.CommandID(ExpiryProcess, reservation, cause), at)
}
