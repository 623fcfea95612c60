package projections_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/eventlog/catalog"
	"github.com/recital-tts/recital/internal/eventlog/esdb"
	"github.com/recital-tts/recital/internal/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/feed"
	"github.com/recital-tts/recital/internal/postgres/pgtest"
	"github.com/recital-tts/recital/projections"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what is waited for on a machine that is busy; nothing is timed.
const patience = time.Minute

var now = time.Date(2026, 3, 10, 12, 30, 15, 123_456_000, time.UTC)

// world is a log in a real node whose events become rows in a real database.
type world struct {
	log       eventlog.Log
	registry  *eventlog.Registry
	identity  eventlog.Identity
	projector *feed.Projector
	pool      *pgxpool.Pool
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := emptyWorld(t)
	w.projector = w.project(t, projections.All())
	return w
}

// emptyWorld is one without rows.
func emptyWorld(t testing.TB) *world {
	t.Helper()
	client, err := esdb.Open(esdb.Config{Socket: nodetest.Start(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	w := &world{log: client, pool: pgtest.New(t)}
	w.registry, err = catalog.Registry()
	require.NoError(t, err)
	w.identity, err = eventlog.Identify(t.Context(), client, w.registry, uuid.New(), now)
	require.NoError(t, err)
	return w
}

// project makes rows of the events until the test ends.
func (w *world) project(t testing.TB, all []feed.Projection) *feed.Projector {
	t.Helper()
	projector, err := feed.NewProjector(feed.Config{
		Log: w.log, Registry: w.registry, Pool: w.pool, Identity: w.identity,
		Projections: all, Instance: uuid.NewString(),
		Alert: func(projection, reason string) { t.Errorf("projection %s: %s", projection, reason) },
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- projector.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	<-projector.CaughtUp() // the views are there
	return projector
}

// write appends events to a stream that is empty, and waits until they are rows.
func (w *world) write(t require.TestingT, stream string, events ...any) {
	if len(events) > 0 {
		w.append(t, stream, eventlog.NoStream, events...)
	}
}

// append writes events behind a revision, waits until they are rows, and returns the revision of the last one.
func (w *world) append(t require.TestingT, stream string, expected eventlog.Revision, events ...any) eventlog.Revision {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: now}
	proposed, err := w.registry.Encode(uuid.New(), 0, meta, events...)
	require.NoError(t, err)
	appended, err := w.log.Append(ctx, stream, expected, proposed)
	require.NoError(t, err)
	require.NoError(t, w.projector.Wait(ctx, appended.Position))
	return appended.Revision
}

// row is one of a view; utc has its times as the tests write them, because pgx gives local ones.
type row[T any] interface{ utc() T }

// rows reads a view's rows of one account.
func rows[T row[T]](t require.TestingT, w *world, sql, account string) []T {
	found, err := w.pool.Query(context.Background(), sql, account)
	require.NoError(t, err)
	list, err := pgx.CollectRows(found, pgx.RowToStructByPos[T])
	require.NoError(t, err)
	for i := range list {
		list[i] = list[i].utc()
	}
	return list
}
