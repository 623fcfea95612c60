package feed

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

func TestReadModelsEqualAFoldOfTheLog(t *testing.T) {
	// given a log, and projections that read it from the start
	w := newWorld(t)
	w.live(500)
	p := start(t, w.config(counters("first"), counters("second")))

	// when more is written while they read
	last := w.live(500)
	p.await(last)

	// then both equal a fold of the log, and are ready
	w.requireFold("first", last)
	w.requireFold("second", last)
	<-p.CaughtUp()
	require.Equal(t, last, p.Reached())
	require.Empty(t, p.alerted())
}

func TestARestartResumesAtTheCheckpoint(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		// given a projector that was stopped at some position
		last := w.live(100)
		p := start(t, w.config(counters("list")))
		require.Eventually(t, func() bool { return p.Reached() != eventlog.Start() }, patience, time.Millisecond)
		p.stop()

		// when it restarts
		p = start(t, w.config(counters("list")))
		p.await(last)

		// then no event is missing or counted twice
		w.requireFold("list", last)
		p.stop()
	}
}

func TestAProjectionThatIsBehindCatchesUpAndJoins(t *testing.T) {
	// given a projection that has read the log
	w := newWorld(t)
	p := start(t, w.config(counters("old")))
	p.await(w.live(300))
	p.stop()

	// when another projection is added, and more is written
	w.live(50)
	config := w.config(counters("old"), counters("added"))
	pages := recordPages(&config)
	p = start(t, config)
	<-p.CaughtUp()
	last := w.live(50)
	p.await(last)
	p.stop()

	// then both are correct, and finally share their pages
	w.requireFold("old", last)
	w.requireFold("added", last)
	shared := pages()
	require.Len(t, shared[0].Generations, 1)
	require.Len(t, shared[len(shared)-1].Generations, 2)
}

func TestAPageNamesTheReadModelsThatItHasChanged(t *testing.T) {
	// given a projection that writes rows, and one that does not
	w := newWorld(t)
	idle := counters("idle")
	idle.Handle = func(eventlog.Decoded, *table.Rows) error { return nil }
	config := w.config(counters("list"), idle)
	pages := recordPages(&config)

	// when they have read the log
	p := start(t, config)
	p.await(w.live(50))
	p.stop()

	// then pages name only the first one
	var changed []readmodel.Model
	for _, page := range pages() {
		changed = append(changed, page.Changed...)
	}
	require.Contains(t, changed, modelOf("list"))
	require.NotContains(t, changed, modelOf("idle"))
}

func TestProjectionsAtManyPositionsAllJoin(t *testing.T) {
	// given projections that were added one after the other
	w := newWorld(t)
	var projections []Projection
	for i := range 4 {
		projections = append(projections, counters(fmt.Sprintf("list%d", i)))
		p := start(t, w.config(projections...))
		p.await(w.live(60))
		p.stop()
		_, err := w.pool.Exec(t.Context(), `update feed.checkpoints set instance = ''`)
		require.NoError(t, err)
	}
	// and three of them start again
	for i := range 3 {
		w.rewind(projections[i])
	}

	// when they run
	p := start(t, w.config(projections...))
	last := w.live(60)
	p.await(last)

	// then all are correct
	for _, projection := range projections {
		w.requireFold(projection.Name, last)
	}
}

// rewind resets a projection to the start of the log.
func (w *world) rewind(p Projection) {
	w.t.Helper()
	_, err := w.pool.Exec(w.t.Context(), fmt.Sprintf("truncate rm_%s_v1_g1.counters", p.Name))
	require.NoError(w.t, err)
	_, err = w.pool.Exec(w.t.Context(),
		"update feed.checkpoints set commit_position = 0, prepare_position = 0 where name = $1", p.Name)
	require.NoError(w.t, err)
}

func TestAReadModelOfAnotherLogIsRebuilt(t *testing.T) {
	tests := []struct {
		name string
		// happens makes the checkpoint invalid for the configured log
		happens func(w *world, config *Config)
	}{
		{"a restore opened another epoch", func(_ *world, config *Config) { config.Identity.Epoch++ }},
		{"the log is another one", func(_ *world, config *Config) { config.Identity.LogID = uuid.New() }},
		{"the position is past the head", func(w *world, _ *Config) {
			w.exec("update feed.checkpoints set commit_position = commit_position + 1000000")
		}},
		{"its checkpoint was deleted", func(w *world, _ *Config) { w.exec("delete from feed.checkpoints") }},
		{"its tables were dropped", func(w *world, _ *Config) { w.exec("drop schema rm_list_v1_g1 cascade") }},
		{"its generation was deleted", func(w *world, _ *Config) { w.exec("delete from feed.generations") }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// given a read model with a row that is not from the log
			w := newWorld(t)
			config := w.config(counters("list"))
			p := start(t, config)
			last := w.live(50)
			p.await(last)
			p.stop()
			_, err := w.pool.Exec(t.Context(), "insert into rm_list_v1_g1.counters values ('stray', 'x', 1, now())")
			require.NoError(t, err)

			// when the projector finds a log that does not match its checkpoint
			test.happens(w, &config)
			p = start(t, config)
			<-p.CaughtUp()

			// then the read model equals a fold of this log
			w.requireFold("list", last)
			require.Equal(t, last, p.Reached())
		})
	}
}

func TestADroppedLiveGenerationIsReplacedBesideAKeptOne(t *testing.T) {
	// given a live generation, and the one before it, which is kept for a rollback
	w := newWorld(t)
	config := w.config(counters("list"))
	p := start(t, config)
	last := w.live(50)
	p.await(last)
	_, err := p.Rebuild(t.Context(), []string{"list"}, true)
	require.NoError(t, err)
	p.generationOf("list", 2, isLive)
	p.stop()

	// when the live one's schema is dropped, then another one takes its place
	w.exec("drop schema rm_list_v1_g2 cascade")
	p = start(t, config)
	<-p.CaughtUp()
	w.requireFold("list", last)
	p.generationOf("list", 1, is(GenerationCurrent))
}

func TestADeletedCheckpointIsRebuilt(t *testing.T) {
	// given a running projector with a live generation and one that is kept for a rollback
	w := newWorld(t)
	p := start(t, w.config(counters("list"), counters("other")))
	p.await(w.live(50))
	_, err := p.Rebuild(t.Context(), []string{"list"}, true)
	require.NoError(t, err)
	p.generationOf("list", 2, isLive)

	// when all checkpoints are deleted
	w.exec("delete from feed.checkpoints")
	last := w.live(10)

	// then every generation is rebuilt
	p.await(last)
	w.requireFold("list", last)
	w.requireFold("other", last)
	p.generationOf("list", 1, is(GenerationCurrent))
}

func TestTheProjectorSurvivesOutagesOfTheLog(t *testing.T) {
	// given a projector on a node
	w := &world{t: t, registry: registry(t), random: newRandom()}
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	w.connect(nodetest.Socket(dir))
	p := start(t, w.config(counters("list")))
	p.await(w.live(200))

	// when the node is restarted, twice
	for range 2 {
		require.NoError(t, node.Close())
		node = nodetest.Open(t, dir)
		last := w.live(200)
		p.await(last)

		// then the projector has gone on by itself
		w.requireFold("list", last)
	}
	p.stop()
	require.NoError(t, w.log.Close())
	require.NoError(t, node.Close())
}

func TestWaiting(t *testing.T) {
	w := newWorld(t)
	first := w.live(20)

	t.Run("for a position that was committed before the start", func(t *testing.T) {
		p := start(t, w.config(counters("list")))
		p.await(first)
		p.stop()
		again := start(t, w.config(counters("list")))
		again.await(first)
		require.NoError(t, again.Wait(t.Context(), first, modelOf("list")))
	})
	t.Run("ends with its context", func(t *testing.T) {
		p := start(t, w.config(counters("list")))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		err := p.Wait(ctx, eventlog.Position{Commit: 1 << 40, Prepare: 1 << 40})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("for an unknown read model panics", func(t *testing.T) {
		p := start(t, w.config(counters("list")))
		p.await(first)
		for _, unknown := range []readmodel.Model{modelOf("nothing"), {Name: "list", Version: 2}} {
			require.PanicsWithValue(t, "feed: no projection has the read model "+unknown.String(),
				func() { _ = p.Wait(t.Context(), first, modelOf("list"), unknown) })
			require.Panics(t, func() { p.Reached(unknown) })
		}
	})
	t.Run("ends when the projection stops, and does not delay others", func(t *testing.T) {
		p := start(t, w.config(counters("list"), picky("picky")))
		p.await(first)
		last := w.append(counterOpened{ID: "p", Label: poisonous})
		require.ErrorIs(t, p.Wait(t.Context(), last), ErrStopped)
		require.ErrorIs(t, p.Wait(t.Context(), last, modelOf("picky")), ErrStopped)
		require.NoError(t, p.Wait(t.Context(), last, modelOf("list")))
	})
}

func TestLag(t *testing.T) {
	// given a projector that has caught up
	w := newWorld(t)
	p := start(t, w.config(counters("list")))
	p.await(w.live(20))

	// then there is no lag
	lag, err := p.Lag(t.Context())
	require.NoError(t, err)
	require.Zero(t, lag)

	// when it stops reading and events are written
	p.stop()
	w.live(20)

	// then the lag is the age of these events
	lag, err = p.Lag(t.Context())
	require.NoError(t, err)
	require.Positive(t, lag)
	require.Less(t, lag, patience)
}
