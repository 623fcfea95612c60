package feed

import (
	"log/slog"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/migrations"
)

// steps are the fault points of the loop that handles a page.
var steps = []string{"begun", "written", "committed", "published"}

func TestACrashAtAnyStepLosesAndRepeatsNoEvent(t *testing.T) {
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			// given a projector that crashes there in its third page
			w := newWorld(t)
			last := w.live(60)
			config := w.config(counters("list"))
			crash(t, config, step, 3, last)

			// when it starts again
			p := start(t, config)
			p.await(last)

			// then the read model equals a fold of the log
			w.requireFold("list", last)
		})
	}
}

func TestRepeatedCrashesLoseAndRepeatNoEvent(t *testing.T) {
	w := newWorld(t)
	projections := []Projection{counters("a"), counters("b")}
	want, upTo := map[string]counter{}, eventlog.Start()
	rapid.Check(t, func(r *rapid.T) {
		// given a projector that crashes repeatedly while events are written
		config := w.config(projections...)
		config.Limits.Events = rapid.IntRange(1, 20).Draw(r, "page size")
		last := w.live(rapid.IntRange(1, 40).Draw(r, "events before"))
		for range rapid.IntRange(1, 4).Draw(r, "crashes") {
			step := rapid.SampledFrom(steps).Draw(r, "step")
			visit := rapid.IntRange(1, 6).Draw(r, "visit")
			crash(t, config, step, visit, last)
			last = w.live(rapid.IntRange(1, 20).Draw(r, "events between"))
		}

		// when it reaches the end of the log
		p := start(t, config)
		p.await(last)
		p.stop()

		// then both read models equal a fold of the log
		fold(t, w.log, w.registry, upTo, last, want) // all checks write to one log
		upTo = last
		for _, projection := range projections {
			require.Equal(r, want, shown(t, w.pool, projection.Name))
		}
	})
}

func TestPostgresBreaksConnections(t *testing.T) {
	// given a running projector
	w := newWorld(t)
	p := start(t, w.config(counters("list")))
	last := w.live(100)
	own, err := w.pool.Acquire(t.Context()) // the one that is not ended
	require.NoError(t, err)
	defer own.Release()

	// when Postgres ends all other connections now and then
	for range 10 {
		_, err := own.Exec(t.Context(), `
			select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid()`)
		require.NoError(t, err)
		last = w.live(50)
	}
	p.await(last)
	w.pool.Reset() // so that the test's reads do not use an ended connection

	// then the projector has resumed by itself
	w.requireFold("list", last)
	require.Empty(t, p.alerted())
}

// A killed Postgres also loses its last commits, because a page's commit does not wait for the disk.
func TestPostgresIsKilledUnderLoad(t *testing.T) {
	// given a running projector on a cluster that is restarted when it dies
	cluster, err := postgres.StartCluster(t.Context(),
		postgres.ClusterConfig{Dir: pgtest.ClusterDir(t), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Close()) })
	w := &world{t: t, registry: registry(t), random: newRandom()}
	w.open(nodetest.Start(t))
	w.pool, err = postgres.NewPool(t.Context(), cluster.URL(), "")
	require.NoError(t, err)
	t.Cleanup(w.pool.Close)
	require.NoError(t, migrations.Up(t.Context(), w.pool))
	p := start(t, w.config(counters("list"), counters("other")))

	// A connection may briefly outlive the killed Postgres, so the test asks the restarted one.
	killed := 0
	restarted := func() bool {
		w.pool.Reset()
		var file string
		if w.pool.QueryRow(t.Context(), "select pg_read_file('postmaster.pid')").Scan(&file) != nil {
			return false
		}
		pid, err := strconv.Atoi(strings.Split(file, "\n")[0])
		require.NoError(t, err)
		if pid == killed {
			return false
		}
		killed = pid
		return true
	}
	var last eventlog.Position
	times := 3
	if testing.Short() {
		times = 2
	}
	for range times {
		// when it is killed while events are written and read
		written := w.live(300)
		p.await(written)
		last = w.live(500)
		require.Eventually(t, restarted, patience, millisecond)
		require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
	}

	// then the projector resumes by itself, and the read models equal a fold of the log
	require.Eventually(t, restarted, patience, millisecond)
	require.Eventually(t, func() bool { return p.committed(w) == last }, patience, millisecond)
	w.requireFold("list", last)
	w.requireFold("other", last)
	require.Empty(t, p.alerted())
}

// TestPostgresLosesCommits is the same with certain losses: the database is reset to an earlier state.
func TestPostgresLosesCommits(t *testing.T) {
	tests := []struct {
		name    string
		written int // after the crash
	}{
		{"and the log is quiet", 0},
		{"and more is written", 30},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// given a projector with a database that is reset to an earlier state
			w := newWorld(t)
			p := start(t, w.config(counters("list")))
			p.await(w.live(100))
			var last eventlog.Position
			w.putBack(func() {
				last = w.live(100)
				p.await(last)
			})

			// when the log is quiet, or events are written
			if test.written > 0 {
				last = w.live(test.written)
			}

			// then the projector reads the lost events again
			require.Eventually(t, func() bool { return p.committed(w) == last }, patience, millisecond)
			w.requireFold("list", last)
			require.Empty(t, p.alerted())
		})
	}
}
