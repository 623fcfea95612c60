package feed

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// generationOf waits until a generation fulfils a condition.
func (r *running) generationOf(name string, number int, wanted func(Generation) bool) Generation {
	r.t.Helper()
	var found Generation
	require.Eventually(r.t, func() bool {
		overview, err := r.Overview(r.t.Context())
		require.NoError(r.t, err)
		for _, g := range overview.Generations {
			if g.Name == name && g.Number == number && wanted(g) {
				found = g
				return true
			}
		}
		return false
	}, patience, 5*time.Millisecond, "generation %d of %s never gets there", number, name)
	return found
}

func is(state GenerationState) func(Generation) bool {
	return func(g Generation) bool { return g.State == state }
}

func isLive(g Generation) bool { return g.Live }

// requireSameRows waits until two generations have the same position, and checks that they have the same rows.
func (w *world) requireSameRows(name string, one, other int) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		var together bool
		var differences int
		err := pgx.BeginTxFunc(w.t.Context(), w.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
			if err := tx.QueryRow(w.t.Context(), `
				select count(distinct (commit_position, prepare_position)) = 1 from feed.checkpoints
				where name = $1 and generation in ($2, $3)`, name, one, other).Scan(&together); err != nil {
				return err
			}
			a, b := tableSchema(name, 1, one), tableSchema(name, 1, other)
			return tx.QueryRow(w.t.Context(), fmt.Sprintf(`select count(*) from (
				(table %[1]s.counters except table %[2]s.counters) union all (table %[2]s.counters except table %[1]s.counters)) d`,
				a, b)).Scan(&differences)
		})
		require.NoError(w.t, err)
		if together {
			require.Zero(w.t, differences, "rows that only one of the generations has")
		}
		return together
	}, patience, millisecond, "they never have the same position")
}

// writing appends in the background until the returned function is called, which returns the last position.
func (w *world) writing() (stop func() eventlog.Position) {
	w.t.Helper()
	quit := make(chan struct{})
	var last eventlog.Position
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				last = w.live(10)
			}
		}
	})
	return func() eventlog.Position {
		close(quit)
		running.Wait()
		return last
	}
}

func TestARebuiltGenerationReplacesTheLiveOne(t *testing.T) {
	// given a read model with wrong rows
	w := newWorld(t)
	config := w.config(counters("list"), counters("other"))
	config.Limits.Events = 200 // so that it can catch up with a writer without pauses
	p := start(t, config)
	p.await(w.live(200))
	w.exec("update rm_list_v1_g1.counters set sum = sum + 1000")

	// when it is rebuilt while more is written
	stop := w.writing()
	building, err := p.Rebuild(t.Context(), []string{"list"}, false)
	require.NoError(t, err)
	require.Equal(t, []GenerationID{{Name: "list", Version: 1, Number: 2}}, building)
	p.generationOf("list", 2, is(GenerationCurrent))

	// then readers see the wrong rows until the rebuilt generation is promoted
	require.NotEqual(t, p.generationOf("list", 1, isLive), p.generationOf("list", 2, is(GenerationCurrent)))
	promoted, err := p.Promote(t.Context(), []GenerationID{{Name: "list"}})
	require.NoError(t, err)
	require.Equal(t, building, promoted)

	// and promoting again does not bring the old one back
	_, err = p.Promote(t.Context(), []GenerationID{{Name: "list"}})
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
	last := stop()
	p.await(last)
	w.requireFold("list", last)
	w.requireFold("other", last)
	p.generationOf("list", 2, isLive)

	// when it is rolled back
	_, err = p.Rollback(t.Context(), GenerationID{Name: "list"})
	require.NoError(t, err)

	// then the previous one is live again, and was fed all the time
	last = w.live(10)
	p.await(last)
	p.generationOf("list", 1, isLive)
	require.Len(t, shown(t, w.pool, "list"), len(folded(t, w.log, w.registry, last)))

	// when it is rolled forward, and the wrong one retired
	_, err = p.Rollback(t.Context(), GenerationID{Name: "list"})
	require.NoError(t, err)
	require.NoError(t, p.Retire(t.Context(), GenerationID{Name: "list", Number: 1}))

	// then the wrong one is gone, and the feed continues
	last = w.live(50)
	p.await(last)
	w.requireFold("list", last)
	var schema *string
	require.NoError(t, w.pool.QueryRow(t.Context(), "select to_regnamespace('rm_list_v1_g1')::text").Scan(&schema))
	require.Nil(t, schema)
	require.Empty(t, p.alerted())
}

func TestRetiringAGenerationDuringAPageIsNoPoison(t *testing.T) {
	// given a rebuilt read model with a former generation that is retired while a page of both is written, over a
	// connection without prepared statements
	w := newWorld(t)
	config := w.config(counters("list"))
	var (
		other   *Projector
		retires atomic.Bool
		retired = make(chan error, 1)
	)
	config.fault = func(step string) error {
		switch {
		case step == "committed" && retires.Load():
			w.pool.Reset()
		case step == "begun" && retires.CompareAndSwap(true, false):
			retired <- other.Retire(context.Background(), GenerationID{Name: "list", Number: 1})
		}
		return nil
	}
	p := start(t, config)
	p.await(w.live(200))
	_, err := p.Rebuild(t.Context(), []string{"list"}, true)
	require.NoError(t, err)
	other, err = NewProjector(w.config(counters("list")))
	require.NoError(t, err)
	p.generationOf("list", 2, isLive)

	// when
	w.pool.Reset()
	retires.Store(true)
	last := w.live(50)

	// then the page is written to the other one, and no alert is raised
	require.NoError(t, <-retired)
	p.await(last)
	w.requireFold("list", last)
	require.Empty(t, p.alerted())
}

func TestARebuildCompletesWithoutAFollower(t *testing.T) {
	// given a rebuild for promotion, and instances that crash meanwhile
	w := newWorld(t)
	config := w.config(counters("a"), counters("b"))
	p := start(t, config)
	last := w.live(300)
	p.await(last)
	p.stop()
	asked, err := NewProjector(config)
	require.NoError(t, err)
	building, err := asked.Rebuild(t.Context(), nil, true)
	require.NoError(t, err)
	require.Len(t, building, 2)
	for n := range 4 {
		crash(t, config, steps[n], 3, last)
		last = w.live(20)
	}

	// when it is requested again
	again, err := asked.Rebuild(t.Context(), []string{"b", "a", "a"}, true)
	require.NoError(t, err)

	// then the same rebuild continues to its end
	require.ElementsMatch(t, building, again)
	p = start(t, config)
	for _, id := range building {
		p.generationOf(id.Name, 2, isLive)
		w.requireSameRows(id.Name, 1, 2)
	}
	last = w.live(20)
	p.await(last)
	w.requireFold("a", last)
	w.requireFold("b", last)
}

func TestRebuildsThatBeginTogetherReadTheLogOnce(t *testing.T) {
	// given read models
	w := newWorld(t)
	config := w.config(counters("a"), counters("b"), counters("c"))
	p := start(t, config)
	p.await(w.live(300))
	p.stop()

	// when they are rebuilt together
	pages := recordPages(&config)
	p = start(t, config)
	_, err := p.Rebuild(t.Context(), nil, false)
	require.NoError(t, err)
	for _, name := range []string{"a", "b", "c"} {
		p.generationOf(name, 2, is(GenerationCurrent))
	}
	p.stop()

	// then each page was read for all three
	read := 0
	for _, page := range pages() {
		require.Len(t, page.Generations, 3)
		read += page.Events
	}
	require.Equal(t, 301, read, "the events of the log, with the one that opened it")
}

func TestKillsUnderLoadLeaveRebuiltAndLiveEqual(t *testing.T) {
	// given an instance that crashes repeatedly during a rebuild, while events are written
	w := newWorld(t)
	config := w.config(counters("list"))
	config.Limits.Events = 200 // so that it can catch up with a writer that never rests
	p := start(t, config)
	p.await(w.live(200))
	_, err := p.Rebuild(t.Context(), nil, false)
	require.NoError(t, err)
	p.stop()
	stop := w.writing()
	for n := range 8 {
		ctx, cancel := context.WithCancel(t.Context())
		config, on := crashing(config, steps[n%len(steps)], 2+n)
		on(cancel)
		crashed, err := NewProjector(config)
		require.NoError(t, err)
		require.NoError(t, crashed.Run(ctx))
	}

	// when an instance keeps running
	p = start(t, config)

	// then the generations are equal during the writes, and finally equal a fold of the log
	p.generationOf("list", 2, is(GenerationCurrent))
	w.requireSameRows("list", 1, 2)
	last := stop()
	p.await(last)
	w.requireSameRows("list", 1, 2)
	w.requireFold("list", last)
}

func TestPromotionsCauseNoErrorsAndNoStepsBack(t *testing.T) {
	// given two generations, a writer that only adds, and continuous readers
	w := newWorld(t)
	p := start(t, w.config(counters("list")))
	w.append(counterOpened{ID: "sum", Label: "new"})
	p.await(w.append(counterRaised{ID: "sum", By: 1}))
	_, err := p.Rebuild(t.Context(), nil, false)
	require.NoError(t, err)
	p.generationOf("list", 2, is(GenerationCurrent))

	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	failures := make(chan error, 16)
	working.Go(func() {
		for ctx.Err() == nil {
			w.append(counterRaised{ID: "sum", By: 1})
		}
	})
	for range 6 {
		working.Go(func() {
			var before int64
			for ctx.Err() == nil {
				var sum int64
				err := w.pool.QueryRow(context.Background(), "select sum from read_v1.list_list where id = $1", "sum").Scan(&sum)
				if err == nil && sum < before {
					err = fmt.Errorf("a step back from %d to %d", before, sum)
				}
				if err != nil {
					failures <- err
					return
				}
				before = sum
			}
		})
	}

	// when the generations are promoted in turn
	promotions, turns := 0, 100
	if testing.Short() {
		turns = 30
	}
	for n := range turns {
		to := GenerationID{Name: "list", Number: 2 - n%2}
		require.Eventually(t, func() bool {
			_, err := p.Promote(t.Context(), []GenerationID{to})
			if domain.CodeOf(err) == domain.Conflict {
				return false
			}
			require.NoError(t, err)
			return true
		}, patience, millisecond)
		promotions++
	}
	cancel()
	working.Wait()

	// then no reader noticed
	require.Equal(t, turns, promotions)
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	require.Empty(t, p.alerted())
}

func TestWhatOperatorsCannotDo(t *testing.T) {
	w := newWorld(t)
	p := start(t, w.config(counters("list")))
	p.await(w.live(50))
	p.generationOf("list", 1, is(GenerationCurrent))

	t.Run("rebuild an unknown read model", func(t *testing.T) {
		_, err := p.Rebuild(t.Context(), []string{"list", "nothing"}, false)
		require.ErrorIs(t, err, ErrNoGeneration)
	})
	t.Run("promote a missing generation", func(t *testing.T) {
		_, err := p.Promote(t.Context(), []GenerationID{{Name: "list"}})
		require.Equal(t, domain.NotFound, domain.CodeOf(err))
		require.ErrorContains(t, err, "build one first")
		_, err = p.Promote(t.Context(), []GenerationID{{Name: "list", Number: 9}})
		require.ErrorIs(t, err, ErrNoGeneration)
	})
	t.Run("promote another release's version", func(t *testing.T) {
		_, err := p.Promote(t.Context(), []GenerationID{{Name: "list", Version: 2}})
		require.Equal(t, domain.Invalid, domain.CodeOf(err))
	})
	t.Run("roll back the first generation", func(t *testing.T) {
		_, err := p.Rollback(t.Context(), GenerationID{Name: "list"})
		require.Equal(t, domain.NotFound, domain.CodeOf(err))
		require.ErrorContains(t, err, "none was live before")
	})
	t.Run("retire a live generation", func(t *testing.T) {
		require.Equal(t, domain.Conflict, domain.CodeOf(p.Retire(t.Context(), GenerationID{Name: "list", Number: 1})))
	})
	t.Run("retire without a number", func(t *testing.T) {
		require.Equal(t, domain.Invalid, domain.CodeOf(p.Retire(t.Context(), GenerationID{Name: "list"})))
	})
	t.Run("promote a generation that is behind", func(t *testing.T) {
		p.stop()
		_, err := p.Rebuild(t.Context(), nil, false)
		require.NoError(t, err)
		_, err = p.Promote(t.Context(), []GenerationID{{Name: "list"}})
		require.Equal(t, domain.Conflict, domain.CodeOf(err))
	})
}

func TestAnUnfedVersionIsRetired(t *testing.T) {
	// given a running version 1 beside version 2
	w := newWorld(t)
	one := start(t, w.config(counters("list")))
	two := start(t, w.config(countersIn(newCounterTable(), "list", 2)))
	last := w.live(50)
	one.await(last)
	two.await(last)
	old := GenerationID{Name: "list", Version: 1, Number: 1}

	// then it cannot be retired while an instance feeds it
	require.Equal(t, domain.Conflict, domain.CodeOf(two.Retire(t.Context(), old)))

	// and it can after that instance has ended
	one.stop()
	two.generationOf("list", 1, is(GenerationUnfed))
	require.NoError(t, two.Retire(t.Context(), old))
	overview, err := two.Overview(t.Context())
	require.NoError(t, err)
	require.Len(t, overview.Generations, 1)
	require.Equal(t, 2, overview.Generations[0].Version)
}

func TestTheOverviewShowsTheStateOfGenerations(t *testing.T) {
	// given a read model with rows
	w := newWorld(t)
	p := start(t, w.config(counters("list")))
	last := w.live(500)
	p.await(last)

	// then the overview shows its size and position
	rows := int64(len(shown(t, w.pool, "list")))
	g := p.generationOf("list", 1, func(g Generation) bool { return g.Rows == rows })
	require.Equal(t, GenerationCurrent, g.State)
	require.Equal(t, last, g.Position)
	require.EqualValues(t, 501, g.Events)
	require.Zero(t, g.Lag)
	require.Positive(t, g.Bytes)

	// when it is not fed, and more is written
	p.stop()
	w.live(1)

	// then the overview shows that, too
	g = p.generationOf("list", 1, is(GenerationUnfed))
	require.Positive(t, g.Lag)
}
