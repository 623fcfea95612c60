// Package feedtest runs projections on a log in memory and a real database, for tests that write or read the rows of
// read models.
package feedtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/memlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

// patience bounds each wait on a busy machine.
const patience = time.Minute

// World is an empty log, a database of its own, and the projectors between them.
type World struct {
	Log      eventlog.Log
	Registry *eventlog.Registry
	Identity eventlog.Identity // of the log
	Pool     *pgxpool.Pool

	// Projector is the projector of the latest call of Project. Write and Append wait for it.
	Projector *feed.Projector
}

// Registry returns a registry of the event types of slices.
func Registry(t testing.TB, slices ...[]eventlog.Type) *eventlog.Registry {
	t.Helper()
	types := []eventlog.Type{eventlog.LogOpenedType()}
	for _, s := range slices {
		types = append(types, s...)
	}
	registry, err := eventlog.NewRegistry(types...)
	require.NoError(t, err)
	return registry
}

// New returns a World whose projector feeds the projections, if there are any, and has set up their read models. All of
// it ends with the test.
func New(t testing.TB, registry *eventlog.Registry, projections ...feed.Projection) *World {
	t.Helper()
	log := memlog.New()
	identity, err := eventlog.Identify(t.Context(), log, registry, uuid.New(), time.Now())
	require.NoError(t, err)
	w := &World{Log: log, Registry: registry, Identity: identity, Pool: pgtest.New(t)}
	if len(projections) > 0 {
		w.Project(t, projections...)
	}
	return w
}

// Suite is shared by the tests of one package of projections.
type Suite struct {
	Events      []eventlog.Type
	Projections []feed.Projection
}

// World returns a new World with the projections.
func (s Suite) World(t testing.TB) *World {
	t.Helper()
	return New(t, Registry(t, s.Events), s.Projections...)
}

// RequireReleased calls the function of this name with the projections.
func (s Suite) RequireReleased(t *testing.T) {
	t.Helper()
	RequireReleased(t, s.Projections...)
}

// RequireReleased requires that the tables of the projections equal their released versions: the file
// testdata/readmodels/<name>.v<version>.txt describes them and never changes. A missing description of a version is
// written, and belongs in the commit.
func RequireReleased(t *testing.T, projections ...feed.Projection) {
	t.Helper()
	for _, p := range projections {
		t.Run(p.Model.String(), func(t *testing.T) { requireDescription(t, p) })
	}
}

func requireDescription(t *testing.T, p feed.Projection) {
	t.Helper()
	path := filepath.Join("testdata", "readmodels", fmt.Sprintf("%s.v%d.txt", p.Name, p.Version))
	golden, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(p.Describe()), 0o644))
		require.Failf(t, "no description", "%s is written now", path)
	}
	require.NoError(t, err)
	require.Equal(t, string(golden), p.Describe(), "%s was released with these tables: give it a new version", p.Model)
}

// OnNewDatabase returns a World with the same log and an empty database without a projector.
func (w *World) OnNewDatabase(t testing.TB) *World {
	t.Helper()
	return &World{Log: w.Log, Registry: w.Registry, Identity: w.Identity, Pool: pgtest.New(t)}
}

// Project starts another projector, which runs until stop is called or the test ends, and waits until it has caught up
// with the log. Its alerts fail the test.
func (w *World) Project(t testing.TB, projections ...feed.Projection) (stop func()) {
	t.Helper()
	projector, err := feed.NewProjector(feed.Config{
		Log: w.Log, Registry: w.Registry, Pool: w.Pool, Identity: w.Identity,
		Projections: projections, Instance: uuid.NewString(),
		Alert: func(a feed.Alert) { t.Errorf("%s: %s", a.Subject(), a.Detail) },
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- projector.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	select {
	case <-projector.CaughtUp():
	case err := <-ended:
		ended <- nil
		require.NoError(t, err, "the projector has ended")
	case <-time.After(patience):
		require.FailNow(t, "the projector does not catch up")
	}
	w.Projector = projector
	return stop
}

// Write appends events to an empty stream and waits until they are rows.
func (w *World) Write(t require.TestingT, stream string, events ...any) {
	if len(events) > 0 {
		w.Append(t, stream, eventlog.NoStream, events...)
	}
}

// Append appends events after a revision, waits until they are rows, and returns the revision of the last one.
func (w *World) Append(t require.TestingT, stream string, expected eventlog.Revision, events ...any) eventlog.Revision {
	return w.AppendOf(t, eventlog.Actor{Kind: eventlog.ActorSystem}, stream, expected, events...)
}

// AppendOf is Append with an actor.
func (w *World) AppendOf(
	t require.TestingT, actor eventlog.Actor, stream string, expected eventlog.Revision, events ...any,
) eventlog.Revision {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	meta := eventlog.Metadata{Actor: actor, Time: time.Now()}
	proposed, err := w.Registry.Encode(uuid.New(), 0, meta, events...)
	require.NoError(t, err)
	appended, err := w.Log.Append(ctx, stream, expected, proposed)
	require.NoError(t, err)
	require.NoError(t, w.Projector.Wait(ctx, appended.Position))
	return appended.Revision
}

// Rows returns what a query selects, each row as a T by the position of its columns. Times are in UTC.
func Rows[T any](t require.TestingT, w *World, sql string, arguments ...any) []T {
	ctx := context.Background()
	var list []T
	err := w.Pool.AcquireFunc(ctx, func(connection *pgxpool.Conn) error {
		connection.Conn().TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		rows, err := connection.Query(ctx, sql, arguments...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[T])
		return err
	})
	require.NoError(t, err)
	return list
}

// Shown returns the rows of a view that the rest of a query selects: "where …".
func Shown[R any](t require.TestingT, w *World, view readmodel.ViewOf[R], rest string, arguments ...any) []R {
	return Rows[R](t, w, "select "+view.Selection("")+" from "+view.SQL()+" "+rest, arguments...)
}
