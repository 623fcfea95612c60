package feed

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

const parkedColumns = `name, version, generation, event_id, event_type, stream, revision,
	commit_position, prepare_position, state, reason, parked_at`

// Parked lists the events after a position that generations could not handle, in log order: at most limit of
// them, and those at the same position as the last one.
func (p *Projector) Parked(ctx context.Context, after eventlog.Position, limit int) ([]Parked, error) {
	return p.listParked(ctx, `(commit_position, prepare_position) > ($1, $2)
		order by commit_position, prepare_position fetch first $3 rows with ties`,
		after.Commit, after.Prepare, limit)
}

func scanParked(row pgx.CollectableRow) (Parked, error) {
	var p Parked
	err := row.Scan(&p.Name, &p.Version, &p.Number, &p.Event, &p.Type, &p.Stream, &p.Revision, &p.Position.Commit,
		&p.Position.Prepare, &p.State, &p.Reason, &p.At)
	return p, err
}

// Skipped resumes every generation without an event that the registry now lists as skipped. Later events of its stream
// wait until they are tried again.
func (p *Projector) Skipped(ctx context.Context, event uuid.UUID) error {
	return p.operate(ctx, "skipping an event", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			with skipped as (delete from feed.parked where event_id = $1 returning name, version, generation)
			update feed.checkpoints c set parkings = parkings + 1 from skipped s
			where (c.name, c.version, c.generation) = (s.name, s.version, s.generation)`, event)
		return err
	})
}

// FindParked returns the place in the log of an event that generations could not handle. Errors: ErrNotParked.
func (p *Projector) FindParked(ctx context.Context, event uuid.UUID) (Parked, error) {
	return p.oneParked(ctx, "event_id = $1 limit 1", event)
}

// Past returns the generations that are past an event of a stream. They lack the event if it was skipped when they
// passed it.
func (p *Projector) Past(ctx context.Context, stream string, at eventlog.Position) ([]GenerationID, error) {
	overview, err := p.Overview(ctx)
	if err != nil {
		return nil, err
	}
	var past []GenerationID
	for _, g := range overview.Generations {
		id := GenerationID{Name: g.Name, Version: g.Version, Number: g.Number}
		projection, err := p.ours(id)
		if reads := err != nil || projection.Streams.Include(stream); reads && g.Position.Compare(at) >= 0 {
			past = append(past, id)
		}
	}
	return past, nil
}

// RetryParked handles a parked event and the waiting events of its stream in order, and returns the number of handled
// ones. It ends at the first one that still fails. A generation that has stopped before the event resumes. Number 0 is
// the live generation.
//
// Errors: ErrNotParked; domain.Conflict if an event still fails; domain.Invalid for a generation of a version other
// than this binary's.
func (p *Projector) RetryParked(ctx context.Context, id GenerationID, event uuid.UUID) (int, error) {
	projection, err := p.ours(id)
	if err != nil {
		return 0, err
	}
	parked, err := p.parked(ctx, id, event)
	switch {
	case err != nil:
		return 0, err
	case parked.State == ParkedBlocking:
		return 0, p.operate(ctx, "trying again what blocked a generation", func(tx pgx.Tx) error {
			_, err := forget(ctx, tx, parked)
			return err
		})
	}
	handled, err := p.retryStream(ctx, projection, parked)
	if handled > 0 {
		// Until they read the catalogue again, instances park later events of the stream.
		err = errors.Join(err, p.operate(ctx, "telling of events that are handled", func(pgx.Tx) error { return nil }))
	}
	return handled, err
}

func (p *Projector) retryStream(ctx context.Context, projection Projection, first Parked) (handled int, err error) {
	m := newMember(projection, generation{GenerationID: first.GenerationID}, newParking(), nil)
	for {
		waiting, err := p.waiting(ctx, first)
		if err != nil || len(waiting) == 0 {
			return handled, err
		}
		for _, parked := range waiting {
			if err := p.retry(ctx, m, parked); err != nil {
				return handled, err
			}
			handled++
		}
	}
}

// retry handles one event. Its rows are written in the transaction that ends its parking, and the generation's
// checkpoint is held meanwhile, so that no page is written in between.
func (p *Projector) retry(ctx context.Context, m *member, parked Parked) error {
	event, err := p.readAgain(ctx, parked)
	if err != nil {
		return err
	}
	page, err := m.turnedInto([]eventlog.Decoded{event}, m.parking)
	if err == nil {
		err = persist(ctx, p.logger, "trying a parked event again", func() error {
			return pgx.BeginFunc(ctx, p.config.Pool, func(tx pgx.Tx) error { return unpark(ctx, tx, m, parked, page) })
		})
	}
	if err != nil && !transient(err) {
		return domain.Refuse(domain.Conflict, fmt.Sprintf("Event %s of stream %s still fails: %s", parked.Type, parked.Stream,
			withoutValues(err)))
	}
	return err
}

func unpark(ctx context.Context, tx pgx.Tx, m *member, parked Parked, page pageRows) error {
	if err := holdParkings(ctx, tx, parked.GenerationID); err != nil {
		return err
	}
	found, err := forget(ctx, tx, parked)
	if err != nil || !found {
		return err // another operator was faster
	}
	batch := &pgx.Batch{}
	for _, w := range m.writers {
		w.Queue(batch, page.Rows)
	}
	return tx.SendBatch(ctx, batch).Close()
}

func (p *Projector) readAgain(ctx context.Context, parked Parked) (eventlog.Decoded, error) {
	for recorded, err := range p.config.Log.ReadStream(ctx, parked.Stream, parked.Revision) {
		if err != nil {
			return eventlog.Decoded{}, fmt.Errorf("reading a parked event: %w", err)
		}
		return p.decode(recorded), nil
	}
	return eventlog.Decoded{}, fmt.Errorf("reading a parked event: stream %s does not have it", parked.Stream)
}

// thisGeneration is the condition for the rows of a generation.
const thisGeneration = "name = $1 and version = $2 and generation = $3"

// parked finds a parked event. Errors: ErrNotParked.
func (p *Projector) parked(ctx context.Context, id GenerationID, event uuid.UUID) (Parked, error) {
	if id.Version == 0 {
		projection, err := p.ours(id)
		if err != nil {
			return Parked{}, err
		}
		id.Version = projection.Version
	}
	return p.oneParked(ctx, `
		name = $1 and version = $2 and event_id = $4 and generation = case when $3 > 0 then $3 else (
			select generation from feed.generations g where g.name = $1 and g.version = $2 and g.live) end`,
		id.Name, id.Version, id.Number, event)
}

// oneParked returns the first parked event of a condition. Errors: ErrNotParked.
func (p *Projector) oneParked(ctx context.Context, condition string, arguments ...any) (Parked, error) {
	found, err := p.listParked(ctx, condition, arguments...)
	if err == nil && len(found) == 0 {
		err = ErrNotParked
	}
	if err != nil {
		return Parked{}, err
	}
	return found[0], nil
}

// waiting lists the events that wait in the stream of a parked event.
func (p *Projector) waiting(ctx context.Context, of Parked) ([]Parked, error) {
	return p.listParked(ctx, thisGeneration+" and stream = $4 and state = 'parked' order by "+
		"commit_position, prepare_position",
		of.Name, of.Version, of.Number, of.Stream)
}

func (p *Projector) listParked(ctx context.Context, condition string, arguments ...any) ([]Parked, error) {
	rows, err := p.config.Pool.Query(ctx, "select "+parkedColumns+" from feed.parked where "+condition, arguments...)
	if err != nil {
		return nil, fmt.Errorf("listing parked events: %w", err)
	}
	parked, err := pgx.CollectRows(rows, scanParked)
	if err != nil {
		return nil, fmt.Errorf("listing parked events: %w", err)
	}
	return parked, nil
}

// forget ends the parking of an event.
func forget(ctx context.Context, tx pgx.Tx, parked Parked) (found bool, err error) {
	tag, err := tx.Exec(ctx, "delete from feed.parked where "+thisGeneration+" and event_id = $4",
		parked.Name, parked.Version, parked.Number, parked.Event)
	return tag.RowsAffected() > 0, err
}

// holdParkings blocks commits of pages until the end of the transaction, and makes pages with the former parkings fail.
func holdParkings(ctx context.Context, tx pgx.Tx, id GenerationID) error {
	_, err := tx.Exec(ctx, "update feed.checkpoints set parkings = parkings + 1 where "+thisGeneration, id.Name,
		id.Version, id.Number)
	return err
}

// maxParked is the maximum number of a generation's events that wait for an operator. If there are more, the handler is
// broken rather than an event, and the generation stops.
const maxParked = 1000

// parking holds the events that a generation skips if the projection permits it: poison events and all later events of
// their streams, which are handled later in the order of the stream.
type parking struct {
	blocked   string    // the reason why the generation has stopped, or ""
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

// parkedEvent is an event that a page skips, with the reason.
type parkedEvent struct {
	event  eventlog.Recorded
	reason string
}

// with returns the parking with more events.
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
	return []any{m.Name, m.Version, m.Number, e.event.ID, e.event.Type, e.event.Stream,
		e.event.Revision, e.event.Position.Commit, e.event.Position.Prepare, state, e.reason}
}

func queueParked(batch *pgx.Batch, m *member, events []parkedEvent) {
	for _, e := range events {
		batch.Queue(parkStatement, parkArguments(m, e, ParkedWaiting)...)
	}
}

// block records that a generation has stopped before an event, until an operator retries or skips it, or another
// instance tries it.
func block(ctx context.Context, db *pgxpool.Pool, m *member, e parkedEvent) error {
	_, err := db.Exec(ctx, parkStatement, parkArguments(m, e, ParkedBlocking)...)
	return err
}

// unblock removes what blocked the generation, for an instance that tries it.
func unblock(ctx context.Context, tx pgx.Tx, m *member) error {
	tag, err := tx.Exec(ctx, "delete from feed.parked where "+thisGeneration+" and state = 'blocking'",
		m.Name, m.Version, m.Number)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	return changeCatalogue(ctx, tx)
}

// behind returns the reason for an event that waits only for an earlier one.
func behind(stream string) string {
	return fmt.Sprintf("an earlier event of stream %s waits", stream)
}

// Alert is a problem of a generation that needs an operator.
type Alert struct {
	Generation GenerationID
	Reason     alert.Reason
	Event      uuid.UUID         // id of the event concerned; zero if there is none
	Position   eventlog.Position // of the event, or else of the checkpoint; zero if neither is known
	Detail     string            // what happened, without personal data
}

// GenerationName returns the name of a generation in alerts.
func GenerationName(name string, version, number int) string {
	return fmt.Sprintf("%s_v%d_g%d", name, version, number)
}

// Subject identifies the generation and, where it is known, its position. It is the same on every instance.
func (a Alert) Subject() string {
	generation := GenerationName(a.Generation.Name, a.Generation.Version, a.Generation.Number)
	if a.Position == (eventlog.Position{}) {
		return generation
	}
	return generation + " at " + a.Position.String()
}
