package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// ErrStopped is returned for a projection that has stopped before the awaited position.
var ErrStopped = errors.New("the projection is stopped")

// State is the state of a projection in this instance.
type State string

// The states of a projection.
const (
	StateStarting State = "starting" // its read model is being set up
	StateRunning  State = "running"  // this instance feeds it
	StateStandby  State = "standby"  // another instance feeds it
	StateStopped  State = "stopped"  // before an event that it cannot handle, see Status.Reason
)

// Status is the state of a projection.
type Status struct {
	Name     string
	State    State
	Reason   string            // why it stopped
	Position eventlog.Position // of the last event whose rows are committed, as far as this instance knows
}

// progress is the position of a projection, with its waiters.
type progress struct {
	model  readmodel.Model
	follow func() // requests an early read of the checkpoint, which another instance may have moved

	mu       sync.Mutex
	status   Status
	furthest eventlog.Position // ever seen committed; a crash of Postgres may move status.Position back
	waiters  map[*waiter]bool
}

func newProgress(p Projection, follow func()) *progress {
	return &progress{
		model: p.Model, follow: follow, waiters: map[*waiter]bool{},
		status: Status{Name: p.Name, State: StateStarting},
	}
}

// observe records the position of the checkpoint, moved by any instance, and wakes its waiters. It may be lower than
// before, because of commits that Postgres lost in a crash, or a rebuild.
func (p *progress) observe(position eventlog.Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reach(position)
}

// see records that a read has shown a position, which another instance may have committed.
func (p *progress) see(position eventlog.Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if position.Compare(p.status.Position) > 0 {
		p.reach(position)
	}
}

// known returns the furthest position ever seen committed. Reads must not show less.
func (p *progress) known() eventlog.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.furthest
}

// forget discards the shown position, because the read model is rebuilt from another log or epoch.
func (p *progress) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.furthest = eventlog.Start()
}

func (p *progress) reach(position eventlog.Position) {
	p.status.Position = position
	if position.Compare(p.furthest) > 0 {
		p.furthest = position
	}
	for w := range p.waiters {
		if w.position.Compare(position) <= 0 {
			p.wake(w)
		}
	}
}

// enter sets the state of the projection in this instance.
func (p *progress) enter(state State, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.State, p.status.Reason = state, reason
	if state != StateStopped {
		return
	}
	for w := range p.waiters {
		p.wake(w)
	}
}

func (p *progress) wake(w *waiter) {
	delete(p.waiters, w)
	close(w.done)
}

func (p *progress) snapshot() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

func (p *progress) waitedFor() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiters) > 0
}

// wait waits until the position is committed. Errors: ErrStopped, or the context's.
func (p *progress) wait(ctx context.Context, position eventlog.Position) error {
	w, err := p.join(position)
	if w == nil {
		return err
	}
	select {
	case <-w.done:
		return p.outcome(position)
	case <-ctx.Done():
		p.leave(w)
		return fmt.Errorf("waiting for read model %s: %w", p.model.Name, ctx.Err())
	}
}

func (p *progress) join(position eventlog.Position) (*waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status.Position.Compare(position) >= 0 {
		return nil, nil
	}
	if p.status.State == StateStopped {
		return nil, p.stopped()
	}
	w := &waiter{position: position, done: make(chan struct{})}
	p.waiters[w] = true
	if p.status.State == StateStandby {
		p.follow()
	}
	return w, nil
}

// outcome returns nil for a woken waiter if its position is reached, or ErrStopped.
func (p *progress) outcome(position eventlog.Position) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status.State == StateStopped && p.status.Position.Compare(position) < 0 {
		return p.stopped()
	}
	return nil
}

func (p *progress) stopped() error { return fmt.Errorf("read model %s: %w", p.model.Name, ErrStopped) }

func (p *progress) leave(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiters, w)
}

// waiter waits for a position.
type waiter struct {
	position eventlog.Position
	done     chan struct{}
}

// laggard is the maximum lag of a live generation that counts as current.
const laggard = 10 * time.Second

const overviewQuery = `
	select g.name, g.version, g.generation, g.live, g.promote, g.created_at,
	       c.commit_position, c.prepare_position, c.events, c.moved_at,
	       c.holder is not null and c.lease_until > clock_timestamp(), coalesce(c.instance, ''),
	       coalesce(p.waiting, 0), coalesce(p.reason, ''), coalesce(s.rows, 0), coalesce(s.bytes, 0)
	from feed.generations g
	join feed.checkpoints c using (name, version, generation)
	left join lateral (
		select count(*) as waiting, min(reason) as reason
		from feed.parked p where (p.name, p.version, p.generation) = (g.name, g.version, g.generation)
	) p on true
	left join lateral (
		select sum(pg_stat_get_live_tuples(t.oid)) as rows, sum(pg_total_relation_size(t.oid)) as bytes
		from pg_class t
		where t.relkind = 'r' and t.relnamespace = to_regnamespace('rm_' || g.name || '_v' || g.version || '_g'
		|| g.generation)
	) s on true
	order by g.name, g.version, g.generation`

// overviewRow is a generation with the values that determine its state.
type overviewRow struct {
	Generation
	fed     bool
	blocked string
}

// Overview returns the state of all generations in the database, including other versions.
func (p *Projector) Overview(ctx context.Context) (Overview, error) {
	rows, err := p.config.Pool.Query(ctx, overviewQuery)
	if err != nil {
		return Overview{}, fmt.Errorf("reading the generations: %w", err)
	}
	all, err := pgx.CollectRows(rows, scanOverview)
	if err != nil {
		return Overview{}, fmt.Errorf("reading the generations: %w", err)
	}
	for i := range all {
		if err := p.countSmall(ctx, &all[i].Generation); err != nil {
			return Overview{}, fmt.Errorf("counting rows: %w", err)
		}
	}
	head, err := p.config.Log.Head(ctx)
	if err != nil {
		return Overview{}, fmt.Errorf("reading the log's head: %w", err)
	}
	overview := Overview{Head: head, At: time.Now()}
	lags := map[eventlog.Position]time.Duration{}
	for i := range all {
		g := &all[i]
		lag, known := lags[g.Position]
		if !known {
			if lag, err = p.lag(ctx, g.Position, head); err != nil {
				return Overview{}, err
			}
			lags[g.Position] = lag
		}
		g.Lag = lag
	}
	for _, g := range all {
		g.State = g.state(all, head)
		overview.Generations = append(overview.Generations, g.Generation)
	}
	return overview, nil
}

// small is the size in bytes up to which rows are counted, because Postgres' estimates may be ten seconds old.
const small = 1 << 20

func (p *Projector) countSmall(ctx context.Context, g *Generation) error {
	i := slices.IndexFunc(p.config.Projections, func(p Projection) bool {
		return p.Name == g.Name && p.Version == g.Version
	})
	if i < 0 || g.Bytes > small {
		return nil
	}
	var counts []string
	for _, t := range p.config.Projections[i].Tables {
		counts = append(counts, "(select count(*) from "+quote(tableSchema(g.Name, g.Version, g.Number), t.Name())+")")
	}
	err := p.config.Pool.QueryRow(ctx, "select "+strings.Join(counts, " + ")).Scan(&g.Rows)
	if answer := rejected(err); answer != nil && answer.Code == undefinedTable {
		return nil // retired meanwhile
	}
	return err
}

// undefinedTable is Postgres' code for a missing table.
const undefinedTable = "42P01"

func scanOverview(row pgx.CollectableRow) (overviewRow, error) {
	var g overviewRow
	err := row.Scan(&g.Name, &g.Version, &g.Number, &g.Live, &g.Promote, &g.Created, &g.Position.Commit,
		&g.Position.Prepare, &g.Events, &g.MovedAt, &g.fed, &g.Instance, &g.Parked, &g.blocked, &g.Rows, &g.Bytes)
	g.Reason = g.blocked
	if !g.fed {
		g.Instance = ""
	}
	return g, err
}

func (g overviewRow) state(all []overviewRow, head eventlog.Position) GenerationState {
	switch {
	case g.blocked != "":
		return GenerationStopped
	case !g.fed:
		return GenerationUnfed
	case g.Position.Compare(head) >= 0, g.Live && g.Lag < laggard:
		return GenerationCurrent
	}
	for _, live := range all {
		if live.Live && live.Name == g.Name && live.Version == g.Version && !g.Live &&
			g.Position.Compare(live.Position) >= 0 {
			return GenerationCurrent
		}
	}
	return GenerationBuilding
}
