package feed

import (
	"context"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// maxParked is how many events of a generation may wait for an operator. With more of them something is wrong with the
// handler rather than with an event, and the generation stops.
const maxParked = 1000

// parking is what a generation leaves out where the projection permits it: poison events with all that follows in their
// streams, so that the order within a stream holds when they are handled later.
type parking struct {
	blocked   string    // why the generation stands still; empty when it does not
	blockedBy uuid.UUID // the event
	streams   map[string]bool
	waiting   int
}

func newParking() *parking {
	return &parking{streams: map[string]bool{}}
}

func (p *parking) note(event Parked) {
	switch event.State {
	case ParkedBlocking:
		p.blocked, p.blockedBy = event.Reason, event.Event
	case ParkedWaiting:
		p.streams[event.Stream] = true
		p.waiting++
	}
}

// parkedEvent is an event that a page leaves out, and why.
type parkedEvent struct {
	event  eventlog.Recorded
	reason string
}

// with returns the parking after more events.
func (p *parking) with(events []parkedEvent) *parking {
	if len(events) == 0 {
		return p
	}
	after := &parking{streams: maps.Clone(p.streams), waiting: p.waiting + len(events)}
	for _, e := range events {
		after.streams[e.event.Stream] = true
	}
	return after
}

const parkStatement = `
	insert into feed.parked (name, version, generation, event_id, event_type, stream, revision,
		commit_position, prepare_position, state, reason)
	values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
	on conflict (name, version, generation, event_id) do update set state = excluded.state, reason = excluded.reason`

// parkArguments are the values of parkStatement.
func parkArguments(m *member, e parkedEvent, state ParkedState) []any {
	return []any{m.projection.Name, m.projection.Version, m.number, e.event.ID, e.event.Type, e.event.Stream,
		int64(e.event.Revision),
		int64(e.event.Position.Commit), int64(e.event.Position.Prepare), state, e.reason}
}

func queueParked(batch *pgx.Batch, m *member, events []parkedEvent) {
	for _, e := range events {
		batch.Queue(parkStatement, parkArguments(m, e, ParkedWaiting)...)
	}
}

// block notes that a generation stands before an event, until an operator retries or skips it, or an instance that has
// not tried it does.
func block(ctx context.Context, db *pgxpool.Pool, m *member, e parkedEvent) error {
	_, err := db.Exec(ctx, parkStatement, parkArguments(m, e, ParkedBlocking)...)
	return err
}

// unblock removes what blocked the generation, for an instance that tries it.
func unblock(ctx context.Context, tx pgx.Tx, m *member) error {
	tag, err := tx.Exec(ctx, `
		delete from feed.parked where name = $1 and version = $2 and generation = $3 and state = 'blocking'`,
		m.projection.Name, m.projection.Version, m.number)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	return changeCatalogue(ctx, tx)
}

// behind returns the reason of an event that waits only for an earlier one.
func behind(stream string) string {
	return fmt.Sprintf("an earlier event of stream %s waits", stream)
}
