package feed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// laggard is how far behind a live generation may be and still count as current.
const laggard = 10 * time.Second

const overviewQuery = `
	select g.name, g.version, g.generation, g.live, g.promote, g.created_at,
	       c.commit_position, c.prepare_position, c.events, c.moved_at,
	       c.holder is not null and c.lease_until > clock_timestamp(), coalesce(c.instance, ''),
	       coalesce(p.waiting, 0), coalesce(p.reason, ''), coalesce(s.rows, 0), coalesce(s.bytes, 0)
	from feed.generations g
	join feed.checkpoints c using (name, version, generation)
	left join lateral (
		select count(*) as waiting, min(reason) filter (where state = 'blocking') as reason
		from feed.parked p where (p.name, p.version, p.generation) = (g.name, g.version, g.generation)
	) p on true
	left join lateral (
		select sum(pg_stat_get_live_tuples(t.oid)) as rows, sum(pg_total_relation_size(t.oid)) as bytes
		from pg_class t
		where t.relkind = 'r' and t.relnamespace = to_regnamespace('rm_' || g.name || '_v' || g.version || '_g'
		|| g.generation)
	) s on true
	order by g.name, g.version, g.generation`

// overviewRow is a generation with what its state follows from.
type overviewRow struct {
	Generation
	fed     bool
	blocked string
}

// Overview returns the state of all generations in the database, those of other versions included.
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

// small is the size, in bytes, up to which rows are counted: Postgres' own figures may be late by ten seconds.
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

// undefinedTable is Postgres' code for a table that is not there.
const undefinedTable = "42P01"

func scanOverview(row pgx.CollectableRow) (overviewRow, error) {
	var (
		g               overviewRow
		commit, prepare int64
	)
	err := row.Scan(&g.Name, &g.Version, &g.Number, &g.Live, &g.Promote, &g.Created, &commit, &prepare, &g.Events,
		&g.MovedAt,
		&g.fed, &g.Instance, &g.Parked, &g.blocked, &g.Rows, &g.Bytes)
	g.Position = eventlog.Position{Commit: uint64(commit), Prepare: uint64(prepare)}
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
