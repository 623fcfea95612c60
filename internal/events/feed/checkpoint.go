package feed

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// errMoved says that a checkpoint was not where this projector left it.
var errMoved = errors.New("the checkpoint is not where this projector left it")

// errRetired says that an operator dropped a generation meanwhile.
var errRetired = errors.New("the generation was retired")

// checkpoints reads and moves the rows of feed.checkpoints on behalf of one run of a projector. All leases end by the
// clock of Postgres, which may jump: one that ends later than any can end by now is from before a jump, and free.
type checkpoints struct {
	db       database
	log      eventlog.Identity
	holder   uuid.UUID // of this run
	instance string
	lease    time.Duration
}

// checkpoint is a row, seen by this run.
type checkpoint struct {
	id       GenerationID
	position eventlog.Position
	ours     bool // this run holds the lease
	free     bool // nobody does
}

// rowKeys are the keys of the members' rows, as three arrays.
func rowKeys(members []*member) (names []string, versions, generations []int) {
	for _, m := range members {
		names = append(names, m.projection.Name)
		versions = append(versions, m.projection.Version)
		generations = append(generations, m.number)
	}
	return names, versions, generations
}

const sameRow = `c.name = m.name and c.version = m.version and c.generation = m.generation`

const moveCheckpoints = `
	update feed.checkpoints c
	set commit_position = $4, prepare_position = $5, events = c.events + $6, moved_at = clock_timestamp(),
	    lease_until = clock_timestamp() + $7::interval
	from unnest($1::text[], $2::integer[], $3::integer[], $13::bigint[]) as m(name, version, generation, parkings)
	where ` + sameRow + ` and c.parkings = m.parkings and c.commit_position = $8 and c.prepare_position = $9
	  and c.holder = $10 and c.log_id = $11 and c.epoch = $12`

// queueMove queues the compare-and-set of the members' rows, which all stand at from. As many rows must be affected as
// there are members; otherwise the answer is errMoved.
func (c *checkpoints) queueMove(batch *pgx.Batch, members []*member, from, to eventlog.Position, events int) {
	names, versions, generations := rowKeys(members)
	parkings := make([]int64, len(members))
	for i, m := range members {
		parkings[i] = m.parkings
	}
	batch.Queue(moveCheckpoints, names, versions, generations,
		int64(to.Commit), int64(to.Prepare), int64(events), c.lease,
		int64(from.Commit), int64(from.Prepare), c.holder, c.log.LogID, c.log.Epoch, parkings)
}

// read returns the members' rows.
func (c *checkpoints) read(ctx context.Context, members []*member) ([]checkpoint, error) {
	names, versions, generations := rowKeys(members)
	rows, err := c.db.Query(ctx, `
		select c.name, c.version, c.generation, c.commit_position, c.prepare_position, c.holder is not distinct from $4,
		       c.holder is null or c.lease_until not between clock_timestamp() and clock_timestamp() + 2 * $5::interval
		from feed.checkpoints c
		join unnest($1::text[], $2::integer[], $3::integer[]) as m(name, version, generation) on `+sameRow,
		names, versions, generations, c.holder, c.lease)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanCheckpoint)
}

// renew extends the leases of the members that are still ours, and returns their rows.
func (c *checkpoints) renew(ctx context.Context, members []*member) ([]checkpoint, error) {
	names, versions, generations := rowKeys(members)
	var renewed []checkpoint
	err := inRelaxedTransaction(ctx, c.db, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			update feed.checkpoints c set lease_until = clock_timestamp() + $5::interval
			from unnest($1::text[], $2::integer[], $3::integer[]) as m(name, version, generation)
			where `+sameRow+` and c.holder = $4
			returning c.name, c.version, c.generation, c.commit_position, c.prepare_position, true, false`,
			names, versions, generations, c.holder, c.lease)
		if err != nil {
			return err
		}
		renewed, err = pgx.CollectRows(rows, scanCheckpoint)
		return err
	})
	return renewed, err
}

// release returns the members' leases, so that another instance need not wait for their end.
func (c *checkpoints) release(ctx context.Context, members []*member) error {
	names, versions, generations := rowKeys(members)
	_, err := c.db.Exec(ctx, `
		update feed.checkpoints c set holder = null, lease_until = '-infinity'
		from unnest($1::text[], $2::integer[], $3::integer[]) as m(name, version, generation)
		where `+sameRow+` and c.holder = $4`, names, versions, generations, c.holder)
	return err
}

// origin is what a checkpoint says about where a read model comes from.
type origin int

const (
	ofThisLog  origin = iota
	ofAnother         // another log, or another epoch of this one
	pastTheEnd        // the position is past the log's head
)

// claim takes the lease of a member's row if it is free, ours, or may be reclaimed after a restart. A generation that is not
// of this log is emptied, to be built again from the start, unless it is live: then it is not claimed.
func (c *checkpoints) claim(ctx context.Context, m *member, reclaim bool, head headReader) (claimed checkpoint, from origin, err error) {
	err = inTransaction(ctx, c.db, func(tx pgx.Tx) error {
		var log eventlog.Identity
		claimed, log, err = c.lock(ctx, tx, m, reclaim)
		if err != nil || !claimed.free {
			return err
		}
		from, err = c.origin(ctx, claimed.position, log, head)
		switch {
		case err != nil:
			return err
		case from == ofThisLog:
		case m.live && claimed.position != eventlog.Start():
			claimed.free = false
			return nil
		default:
			claimed.position = eventlog.Start()
			return c.rebuild(ctx, tx, m)
		}
		if err := unblock(ctx, tx, m); err != nil {
			return err
		}
		return c.take(ctx, tx, m)
	})
	return claimed, from, err
}

// headReader returns the position of the log's last event.
type headReader func(context.Context) (eventlog.Position, error)

const headTimeout = 5 * time.Second

func (c *checkpoints) origin(ctx context.Context, position eventlog.Position, log eventlog.Identity, head headReader) (origin, error) {
	if log != c.log {
		return ofAnother, nil
	}
	if position == eventlog.Start() {
		return ofThisLog, nil
	}
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	last, err := head(ctx)
	if err == nil && position.Compare(last) > 0 {
		return pastTheEnd, nil
	}
	return ofThisLog, err
}

func (c *checkpoints) lock(ctx context.Context, tx pgx.Tx, m *member, reclaim bool) (checkpoint, eventlog.Identity, error) {
	var (
		log             eventlog.Identity
		commit, prepare int64
		row             = checkpoint{id: m.id()}
	)
	err := tx.QueryRow(ctx, `
		select commit_position, prepare_position, parkings, log_id, epoch,
		       holder is null or holder = $4 or lease_until not between clock_timestamp() and clock_timestamp() + 2 * $7::interval
		       or ($5 and instance = $6)
		from feed.checkpoints where name = $1 and version = $2 and generation = $3 for update`,
		m.projection.Name, m.projection.Version, m.number, c.holder, reclaim && c.instance != "", c.instance, c.lease,
	).Scan(&commit, &prepare, &m.parkings, &log.LogID, &log.Epoch, &row.free)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errRetired
	}
	row.position = eventlog.Position{Commit: uint64(commit), Prepare: uint64(prepare)}
	return row, log, err
}

func (c *checkpoints) take(ctx context.Context, tx pgx.Tx, m *member) error {
	_, err := tx.Exec(ctx, `
		update feed.checkpoints
		set holder = $4, instance = $5, lease_until = clock_timestamp() + $6::interval
		where name = $1 and version = $2 and generation = $3`,
		m.projection.Name, m.projection.Version, m.number, c.holder, c.instance, c.lease)
	return err
}

func (c *checkpoints) rebuild(ctx context.Context, tx pgx.Tx, m *member) error {
	if err := emptyTables(ctx, tx, m.projection, m.number); err != nil {
		return err
	}
	m.parking = newParking()
	if _, err := tx.Exec(ctx, "delete from feed.parked where name = $1 and version = $2 and generation = $3",
		m.projection.Name, m.projection.Version, m.number); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		update feed.checkpoints
		set commit_position = 0, prepare_position = 0, events = 0, moved_at = clock_timestamp(),
		    log_id = $4, epoch = $5, holder = $6, instance = $7, lease_until = clock_timestamp() + $8::interval
		where name = $1 and version = $2 and generation = $3`,
		m.projection.Name, m.projection.Version, m.number, c.log.LogID, c.log.Epoch, c.holder, c.instance, c.lease)
	return err
}

func scanCheckpoint(row pgx.CollectableRow) (checkpoint, error) {
	var (
		c               checkpoint
		commit, prepare int64
	)
	err := row.Scan(&c.id.Name, &c.id.Version, &c.id.Number, &commit, &prepare, &c.ours, &c.free)
	c.position = eventlog.Position{Commit: uint64(commit), Prepare: uint64(prepare)}
	return c, err
}
