package commands

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/todo"
)

// ExpiryProcess is the name of the to-do list of reservations that nobody has settled. The next command on a period ends
// them, too; both ways give the same events.
const ExpiryProcess = "expiry"

// Expire ends the reservations of a period that are due, and tells where in the log the period stands then.
func (l *Ledger) Expire(ctx context.Context, stream string) (eventlog.Position, error) {
	done, err := l.submit(ctx, stream, task{order: Order{At: l.now().UTC()}})
	return done.position, err
}

// expiryOrder is the order to end a reservation. It was caused by the command that reserved, whose id is the
// reservation's.
func expiryOrder(reservation string, at time.Time) Order {
	cause, err := uuid.Parse(reservation)
	if err != nil { // no ledger gives such an id; its expiry is to be derived all the same
		cause = uuid.NewSHA1(uuid.NameSpaceOID, []byte(reservation))
	}
	order := systemOrder(todo.CommandID(ExpiryProcess, reservation, cause), at)
	order.Correlation, order.Cause = cause, cause
	return order
}
