package ledger

import (
	"time"

	"github.com/recital-tts/recital/internal/events/feed/table"
)

type reservationRow struct {
	ID         string    `col:"reservation_id,key"`
	Stream     string    `col:"stream"`
	Account    string    `col:"account_id"`
	Characters int64     `col:"characters"`
	ExpiresAt  time.Time `col:"expires_at"`
}

func newReservations() table.Typed[reservationRow] {
	return table.Of[reservationRow]("reservations").
		Index("reservations_due", "expires_at").
		Index("reservations_of_stream", "stream")
}

const toDoExpiry = `select reservation_id as item, stream, expires_at as due_at, reservation_id as cause from reservations`
