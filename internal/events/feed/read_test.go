package feed

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// read returns the counters of a view and the position of the read.
func (r *running) read(ctx context.Context, name string) (map[string]counter, eventlog.Position, error) {
	r.t.Helper()
	all := map[string]counter{}
	text, err := r.Read(ctx, []readmodel.Model{modelOf(name)}, "select id, label, sum from read_v1."+name+"_list", nil,
		func(row pgx.CollectableRow) error {
			c, err := pgx.RowToStructByPos[counter](row)
			all[c.ID] = c
			return err
		})
	if err != nil {
		return nil, eventlog.Start(), err
	}
	position, err := eventlog.ParsePosition(text)
	return all, position, err
}

func TestAReadShowsThePositionOfItsRows(t *testing.T) {
	// given two instances, and continuous writes
	w := newWorld(t)
	instances := startTwo(t, w.config(counters("list"), counters("other")))
	for _, instance := range instances {
		<-instance.CaughtUp()
	}
	stop := w.writing()

	// when a client reads, through one and the other, until the rows have changed
	var looks []look
	for n := 0; n < 60 || looks[0].at == looks[n-1].at; n++ {
		rows, at, err := instances[n%2].read(t.Context(), "list")
		require.NoError(t, err)
		looks = append(looks, look{rows, at})
	}
	stop()

	// then each read equals a fold of the log at its position, and none is older than the previous one
	for n, look := range looks {
		require.Equal(t, folded(t, w.log, w.registry, look.at), look.rows)
		require.True(t, n == 0 || look.at.Compare(looks[n-1].at) >= 0)
	}
}

func TestRowsOfAQueryAreScannedIntoEachReadersType(t *testing.T) {
	// given rows
	w := newWorld(t)
	p := start(t, w.config(counters("list")))
	p.await(w.live(50))
	const query = "select id, nullif(sum, $1) from read_v1.list_list order by id limit 1"
	first := func(row func(pgx.CollectableRow) error, without int64) {
		_, err := p.Read(t.Context(), []readmodel.Model{modelOf("list")}, query, []any{without}, row)
		require.NoError(t, err)
	}

	// when readers with different types scan them one after the other
	type numbered struct {
		ID  string
		Sum *int64
	}
	type named struct {
		ID  *string
		Sum zeronull.Int8
	}
	for range 3 {
		var n numbered
		first(func(row pgx.CollectableRow) (err error) { n, err = pgx.RowToStructByPos[numbered](row); return err }, -1)
		var without numbered
		first(func(row pgx.CollectableRow) (err error) {
			without, err = pgx.RowToStructByPos[numbered](row)
			return err
		}, *n.Sum)
		var other named
		first(func(row pgx.CollectableRow) (err error) { other, err = pgx.RowToStructByPos[named](row); return err }, -1)

		// then each has them in its type
		require.Equal(t, numbered{n.ID, nil}, without)
		require.Equal(t, named{&n.ID, zeronull.Int8(*n.Sum)}, other)
	}

	// and a type that lacks a column is an error
	var id string
	_, err := p.Read(t.Context(), []readmodel.Model{modelOf("list")}, query, []any{int64(-1)},
		func(row pgx.CollectableRow) error { return row.Scan(&id) })
	require.ErrorContains(t, err, "2 columns into 1")
}

func TestAnUnbuiltReadModelIsUnavailable(t *testing.T) {
	w := newWorld(t)
	p, err := NewProjector(w.config(counters("list")))
	require.NoError(t, err)
	reader := &running{Projector: p, t: t}
	_, _, err = reader.read(t.Context(), "list")
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
}

// putBack resets the read model list to an earlier state, like a crash of Postgres that loses commits.
func (w *world) putBack(between func()) {
	w.t.Helper()
	w.exec("create table saved as select * from rm_list_v1_g1.counters")
	w.exec("create table place as select commit_position, prepare_position from feed.checkpoints")
	between()
	w.exec(`
		begin;
		delete from rm_list_v1_g1.counters;
		insert into rm_list_v1_g1.counters select * from saved;
		update feed.checkpoints c set commit_position = p.commit_position, prepare_position = p.prepare_position from place p;
		commit`)
}

func TestReadsNeverStepBackAfterLostCommits(t *testing.T) {
	for name, known := range map[string]func(t *testing.T, p *running, position eventlog.Position){
		"after a read": func(t *testing.T, p *running, position eventlog.Position) {
			require.Eventually(t, func() bool {
				_, shown, err := p.read(t.Context(), "list")
				return err == nil && shown == position
			}, patience, millisecond)
		},
		"after a reply": func(_ *testing.T, p *running, position eventlog.Position) { p.await(position) },
	} {
		t.Run(name, func(t *testing.T) {
			// given an instance that has read or promised a position
			w := newWorld(t)
			config := w.config(counters("list"))
			p := start(t, config)
			p.await(w.live(50))
			var last eventlog.Position
			w.putBack(func() {
				last = w.live(50)
				known(t, p, last)
			})

			// when Postgres has lost its last commits, then a read waits until they are read again from the log
			rows, shown, err := p.read(t.Context(), "list")
			require.NoError(t, err)
			require.Equal(t, last, shown)
			require.Equal(t, folded(t, w.log, w.registry, last), rows)
		})
	}
}

func TestAReadIsRefusedWhileCommitsAreLost(t *testing.T) {
	// given an instance with lost commits that are not read again
	w := newWorld(t)
	p := start(t, w.config(counters("list")))
	p.await(w.live(50))
	w.putBack(func() {
		p.await(w.live(50))
		p.stop()
	})

	// then a read is refused
	_, _, err := p.read(t.Context(), "list")
	require.ErrorIs(t, err, ErrBehind)

	// and an instance without earlier reads serves the current rows
	another := &running{t: t}
	var failed error
	another.Projector, failed = NewProjector(w.config(counters("list")))
	require.NoError(t, failed)
	rows, shown, err := another.read(t.Context(), "list")
	require.NoError(t, err)
	require.Equal(t, folded(t, w.log, w.registry, shown), rows)
}

func TestAReadThatHangsInPostgresIsCancelled(t *testing.T) {
	// given a locked table
	w := newWorld(t)
	p := start(t, w.config(counters("list")))
	p.await(w.live(50))
	held, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = held.Rollback(context.Background()) }) // if the test has failed before
	_, err = held.Exec(t.Context(), "lock table rm_list_v1_g1.counters in access exclusive mode")
	require.NoError(t, err)

	// then reads are refused, and release their connections
	var readers sync.WaitGroup
	for range 2 * w.pool.Config().MaxConns {
		readers.Go(func() {
			_, _, err := p.read(t.Context(), "list")
			assert.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
		})
	}
	readers.Wait()

	// and when it is unlocked, then reads succeed, on connections without the deadlines of earlier reads
	require.NoError(t, held.Rollback(t.Context()))
	for range 10 {
		rows, shown, err := p.read(t.Context(), "list")
		require.NoError(t, err)
		require.Equal(t, folded(t, w.log, w.registry, shown), rows)
	}
}
