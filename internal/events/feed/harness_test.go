package feed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb/esdbtest"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/events/feed/pages"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// patience bounds waits of tests; it only matters if a test fails.
const patience = 5 * time.Minute

// millisecond is the interval at which tests poll conditions.
const millisecond = time.Millisecond

func sqlError(code string) error {
	return fmt.Errorf("writing: %w", &pgconn.PgError{Code: code, Message: "a message that quotes a value"})
}

// world is a log in a real node and a database.
type world struct {
	t        testing.TB
	log      *esdb.Client
	registry *eventlog.Registry
	identity eventlog.Identity
	pool     *pgxpool.Pool
	random   *rand.Rand
	next     int
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, registry: registry(t), random: newRandom()}
	w.connect(nodetest.Start(t))
	return w
}

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// connect opens a node's log and a database.
func (w *world) connect(socket string) {
	w.t.Helper()
	w.open(socket)
	w.pool = pgtest.New(w.t)
}

func (w *world) open(socket string) {
	w.t.Helper()
	w.log = esdbtest.Open(w.t, socket)
	var err error
	w.identity, err = eventlog.Identify(w.t.Context(), w.log, w.registry, uuid.New(), time.Unix(1_790_000_000, 0))
	require.NoError(w.t, err)
}

func (w *world) exec(sql string) {
	w.t.Helper()
	_, err := w.pool.Exec(w.t.Context(), sql)
	require.NoError(w.t, err)
}

// append writes the events to a new stream and returns the position of the last one.
func (w *world) append(events ...any) eventlog.Position {
	w.t.Helper()
	position, err := w.tryAppend(events...)
	require.NoError(w.t, err)
	return position
}

func (w *world) tryAppend(events ...any) (eventlog.Position, error) {
	proposed, err := w.registry.Encode(uuid.New(), 0, metadata(), events...)
	if err != nil {
		return eventlog.Start(), err
	}
	appended, err := w.log.Append(w.t.Context(), "counter-"+uuid.NewString(), eventlog.NoStream, proposed)
	return appended.Position, err
}

func (w *world) appendRaw(events ...eventlog.Proposed) eventlog.Position {
	w.t.Helper()
	appended, err := w.log.Append(w.t.Context(), "counter-"+uuid.NewString(), eventlog.NoStream, events)
	require.NoError(w.t, err)
	return appended.Position
}

// live appends n random events of counters.
func (w *world) live(n int) eventlog.Position {
	w.t.Helper()
	events := make([]any, 0, n)
	for range n {
		events = append(events, w.event())
	}
	var position eventlog.Position
	for len(events) > 0 {
		batch := events[:min(500, len(events))]
		events = events[len(batch):]
		position = w.append(batch...)
	}
	return position
}

func (w *world) event() any {
	any := fmt.Sprintf("c%d", w.random.IntN(w.next+1))
	switch w.random.IntN(8) {
	case 0, 1:
		w.next++
		return counterOpened{ID: fmt.Sprintf("c%d", w.next), Label: "new"}
	case 2:
		return counterRenamed{ID: any, Label: fmt.Sprintf("label %d", w.random.IntN(1000))}
	case 3:
		return counterClosed{ID: any}
	default:
		return counterRaised{ID: any, By: int64(w.random.IntN(100) - 20)}
	}
}

// config returns a configuration with short times and small pages, so that tests have many of them.
func (w *world) config(projections ...Projection) Config {
	return Config{
		Log: w.log, Registry: w.registry, Pool: w.pool, Identity: w.identity, Projections: projections,
		Limits: pages.Limits{Events: 7}, Lease: 600 * time.Millisecond, Instance: "test",
	}
}

// requireFold checks that the read model equals a fold of the log up to a position.
func (w *world) requireFold(name string, upTo eventlog.Position) {
	w.t.Helper()
	require.Equal(w.t, folded(w.t, w.log, w.registry, upTo), shown(w.t, w.pool, name), "read model %s", name)
}

// running is a projector in the background.
type running struct {
	*Projector
	t      testing.TB
	cancel context.CancelFunc
	done   chan struct{}
	err    error

	mu     sync.Mutex
	alerts []string // projection: detail
}

// recordPages returns a function that returns the pages that projectors with config have written, after their end.
func recordPages(config *Config) func() []PageStats {
	var mu sync.Mutex
	var all []PageStats
	config.OnPage = func(s PageStats) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, s)
	}
	return func() []PageStats { return all }
}

// startTwo runs two instances of a projector.
func startTwo(t testing.TB, config Config) []*running {
	t.Helper()
	instances := make([]*running, 2)
	for i, name := range []string{"one", "two"} {
		config.Instance = name
		instances[i] = start(t, config)
	}
	return instances
}

// start runs a projector until it is stopped or the test ends.
func start(t testing.TB, config Config) *running {
	t.Helper()
	r := &running{t: t, done: make(chan struct{})}
	config.Alert = func(a Alert) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.alerts = append(r.alerts, a.Generation.Name+": "+a.Detail)
	}
	var err error
	r.Projector, err = NewProjector(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() {
		defer close(r.done)
		r.err = r.Run(ctx)
	}()
	t.Cleanup(r.stop)
	return r
}

func (r *running) stop() {
	r.t.Helper()
	r.cancel()
	select {
	case <-r.done:
		require.NoError(r.t, r.err)
	case <-time.After(patience):
		r.t.Fatal("the projector does not end")
	}
}

func (r *running) alerted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.alerts...)
}

// await waits until the projector has committed a position.
func (r *running) await(position eventlog.Position) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(r.t, r.Wait(ctx, position))
}

// awaitState waits until a projection is in a state.
func (r *running) awaitState(projection string, state State) Status {
	r.t.Helper()
	var found Status
	require.Eventually(r.t, func() bool {
		for _, s := range r.Status() {
			if s.Name == projection && s.State == state {
				found = s
				return true
			}
		}
		return false
	}, patience, 5*time.Millisecond, "%s is never %s", projection, state)
	return found
}

// committed returns the common position of all checkpoints in the database.
func (r *running) committed(w *world) eventlog.Position {
	rows, err := r.checkpoints.read(w.t.Context(), r.present())
	if err != nil || len(rows) == 0 || len(rows) != len(r.present()) {
		return eventlog.Start()
	}
	for _, row := range rows {
		if row.position != rows[0].position {
			return eventlog.Start()
		}
	}
	return rows[0].position
}

var errCrash = errors.New("crash")

// crashing makes the n-th visit (from 1) to a step of the loop a crash: the run ends there without cleaning up. It
// returns the configuration, and a function that receives the cancel function of the run.
func crashing(config Config, step string, n int) (Config, func(context.CancelFunc)) {
	var mu sync.Mutex
	var end context.CancelFunc
	visits, crashed := 0, false
	config.fault = func(at string) error {
		mu.Lock()
		defer mu.Unlock()
		if at == step && !crashed {
			visits++
			crashed = visits == n
			if crashed {
				end()
			}
		}
		if crashed {
			return errCrash
		}
		return nil
	}
	return config, func(cancel context.CancelFunc) {
		mu.Lock()
		defer mu.Unlock()
		end = cancel
	}
}

// crash runs a projector until it crashes at the n-th visit to a step, or reaches the position.
func crash(t testing.TB, config Config, step string, n int, position eventlog.Position) {
	t.Helper()
	config, on := crashing(config, step, n)
	p, err := NewProjector(config)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	on(cancel)
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	_ = p.Wait(ctx, position)
	cancel()
	require.NoError(t, <-done)
}

// headOf returns the position of the log's last event.
func (w *world) headOf() eventlog.Position {
	w.t.Helper()
	head, err := w.log.Head(w.t.Context())
	require.NoError(w.t, err)
	return head
}
