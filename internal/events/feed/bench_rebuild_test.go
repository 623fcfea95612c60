package feed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// benchSizes are the lengths of the logs that are rebuilt from; RECITAL_BENCH_EVENTS changes them, -short makes it one.
func benchSizes(b *testing.B) []int {
	b.Helper()
	text := os.Getenv("RECITAL_BENCH_EVENTS")
	switch {
	case text == "" && testing.Short():
		return []int{10_000}
	case text == "":
		return []int{10_000, 100_000, 1_000_000}
	}
	var sizes []int
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		require.NoError(b, err)
		sizes = append(sizes, n)
	}
	return sizes
}

// BenchmarkRebuild builds all read models of the service from a log of mixed events, in one pass, compared with writing
// the same rows from memory with unnest, in pages of 1,000 events. Both run with recitald's GOGC. Memory is the heap in
// use after a collection, after a tenth of the events and at the end.
func BenchmarkRebuild(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, n := range benchSizes(b) {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) { benchmarkRebuild(b, n) })
	}
}

func benchmarkRebuild(b *testing.B, n int) {
	registry, err := app.Registry()
	require.NoError(b, err)
	log, err := esdb.Open(esdb.Config{Socket: nodetest.Start(b)})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, log.Close()) })
	identity, err := eventlog.Identify(b.Context(), log, registry, uuid.New(), time.Now())
	require.NoError(b, err)
	pool := pgtest.New(b)
	last := fill(b, log, registry, n)

	var took, read time.Duration
	var early, late uint64
	for b.Loop() {
		read += readOnly(b, log, last)
		m := &memory{at: n / 10}
		took += rebuild(b, feed.Config{
			Log: log, Registry: registry, Pool: pool, Identity: identity, Projections: app.ReadModels(), OnPage: m.page,
		}, last)
		early, late = max(early, m.early), max(late, m.now())
	}
	bare, rows := writeBare(b, log, registry, pool, last)
	rounds := float64(b.N)
	benchtest.Compare(b, "events/s", float64(n)*rounds/took.Seconds(), float64(n)/bare.Seconds())
	b.ReportMetric(float64(n)*rounds/read.Seconds(), "read-only-events/s")
	b.ReportMetric(float64(rows)/bare.Seconds(), "unnest-rows/s")
	b.ReportMetric(float64(early)/(1<<20), "MiB-at-a-tenth")
	b.ReportMetric(float64(late)/(1<<20), "MiB-at-the-end")
	benchtest.Finish(b)
}

// memory measures the heap in use when the given number of events has been read.
type memory struct {
	at, seen int
	early    uint64
}

func (m *memory) page(p feed.PageStats) {
	m.seen += p.Events
	if m.early == 0 && m.seen >= m.at {
		m.early = m.now()
	}
}

func (*memory) now() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// rebuild starts a rebuild of all read models and returns the time until they have caught up.
func rebuild(b *testing.B, config feed.Config, last eventlog.Position) time.Duration {
	b.Helper()
	_, err := config.Pool.Exec(b.Context(), `
		do $$ declare s text; begin
			for s in select nspname from pg_namespace where nspname like 'rm\_%'
				loop execute 'drop schema ' || s || ' cascade'; end loop;
		end $$; delete from feed.generations`)
	require.NoError(b, err)
	p, err := feed.NewProjector(config)
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = p.Run(ctx) })
	defer running.Wait()
	defer cancel()
	began := time.Now()
	require.NoError(b, p.Wait(b.Context(), last))
	return time.Since(began)
}

// readOnly returns the time to read the log through the client.
func readOnly(b *testing.B, log eventlog.Log, last eventlog.Position) time.Duration {
	b.Helper()
	began := time.Now()
	each(b, log, last, func(eventlog.Recorded) {})
	return time.Since(began)
}

func each(b *testing.B, log eventlog.Log, last eventlog.Position, do func(eventlog.Recorded)) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	subscription := log.Subscribe(ctx, eventlog.Start())
	for delivery := range subscription.Deliveries() {
		if delivery.Kind != eventlog.KindEvent {
			continue
		}
		do(delivery.Event)
		if delivery.Event.Position == last {
			break
		}
	}
	cancel()
	for range subscription.Deliveries() {
	}
}

// writeBare writes the rows of at most the first 200,000 events, which are all in memory.
func writeBare(
	b *testing.B, log eventlog.Log, registry *eventlog.Registry, pool *pgxpool.Pool, last eventlog.Position,
) (time.Duration, int) {
	b.Helper()
	var events []eventlog.Decoded
	each(b, log, last, func(recorded eventlog.Recorded) {
		decoded, err := registry.Decode(recorded)
		require.NoError(b, err)
		events = append(events, decoded)
	})
	took, rows, err := feed.WriteBare(b.Context(), pool, app.ReadModels(),
		slices.Collect(slices.Chunk(events, feed.BarePageEvents)))
	require.NoError(b, err)
	return took, rows
}

// fill writes a log of n events like the service: accounts with keys, periods, and reservations that are settled or
// expire after a while. Appends are larger than the service's, which makes no difference to readers.
func fill(b *testing.B, log eventlog.Log, registry *eventlog.Registry, n int) eventlog.Position {
	b.Helper()
	life := &life{random: rand.New(rand.NewPCG(1, 2)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorAccount, Account: "acc_0123456789abcdef",
		Key: "rk_abcd...wxyz"}}
	var last eventlog.Position
	for n > 0 {
		batch := min(500, n)
		n -= batch
		meta.Time = life.now
		proposed, err := registry.Encode(uuid.New(), 0, meta, life.events(batch)...)
		require.NoError(b, err)
		appended, err := log.Append(b.Context(), "usage-"+uuid.NewString(), eventlog.NoStream, proposed)
		require.NoError(b, err)
		last = appended.Position
	}
	return last
}

// life generates the events of a service.
type life struct {
	random   *rand.Rand
	now      time.Time
	accounts []string
	open     []ledger.Reserved
	queue    []any
}

func (l *life) events(n int) []any {
	for len(l.queue) < n {
		l.happen()
	}
	events := l.queue[:n:n]
	l.queue = slices.Clone(l.queue[n:])
	return events
}

// openReservations is the number of concurrent streams.
const openReservations = 200

var period = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (l *life) happen() {
	l.now = l.now.Add(time.Duration(l.random.IntN(20)) * time.Millisecond)
	switch dice := l.random.IntN(100); {
	case len(l.accounts) == 0 || dice == 0:
		id := uuid.NewString()
		limit := int64(15_000)
		l.accounts = append(l.accounts, id)
		l.queue = append(l.queue,
			account.Opened{Account: id, Plan: plan.Free, At: l.now},
			account.APIKeyCreated{Account: id, Hash: strings.Repeat(id[:8], 8), Masked: "rk_" + id[:4] + "..." + id[30:],
				At: l.now},
			ledger.PeriodOpened{Account: id, Plan: plan.Free, Limit: &limit, Start: period, End: period.AddDate(0, 1, 0)})
	case len(l.open) < openReservations:
		id := l.accounts[l.random.IntN(len(l.accounts))]
		reserved := ledger.Reserved{Account: id, Reservation: uuid.NewString(), Characters: 120, At: l.now,
			ExpiresAt: l.now.Add(11 * time.Minute)}
		l.open = append(l.open, reserved)
		l.queue = append(l.queue, reserved)
	default:
		i := l.random.IntN(len(l.open))
		r := l.open[i]
		l.open = slices.Delete(l.open, i, i+1)
		if dice < 3 {
			l.queue = append(l.queue, ledger.Expired{Account: r.Account, Reservation: r.Reservation, At: l.now})
			return
		}
		l.queue = append(l.queue, ledger.Settled{Account: r.Account, Reservation: r.Reservation, Characters: 100,
			Start: period, At: l.now})
	}
}
