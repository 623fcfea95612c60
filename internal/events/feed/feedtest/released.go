package feedtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
)

// released is where a package of projections keeps what it has released: <name>.v<version>.txt is the description of
// the tables, which never changes, and <name>.v<version>.sql, if it exists, what an earlier release made in the
// database.
const released = "testdata/readmodels"

// RequireReleased requires that the tables of the projections are those of their released versions, and that the
// projections work on databases of earlier releases. The description of a version that has none yet is written, and
// belongs into the commit.
func RequireReleased(t *testing.T, registry *eventlog.Registry, projections ...feed.Projection) {
	t.Helper()
	for _, p := range projections {
		t.Run(p.Model.String(), func(t *testing.T) {
			requireDescription(t, p)
			requireUpgrade(t, registry, p)
		})
	}
}

func file(p feed.Projection, extension string) string {
	return filepath.Join(released, fmt.Sprintf("%s.v%d.%s", p.Name, p.Version, extension))
}

func requireDescription(t *testing.T, p feed.Projection) {
	t.Helper()
	path := file(p, "txt")
	golden, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, os.MkdirAll(released, 0o755))
		require.NoError(t, os.WriteFile(path, []byte(p.Describe()), 0o644))
		require.Failf(t, "no description", "%s is written now", path)
	}
	require.NoError(t, err)
	require.Equal(t, string(golden), p.Describe(), "%s was released with these tables: give it a new version", p.Model)
}

// requireUpgrade starts the projection on tables that an earlier release made.
func requireUpgrade(t *testing.T, registry *eventlog.Registry, p feed.Projection) {
	t.Helper()
	script, err := os.ReadFile(file(p, "sql"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	require.NoError(t, err)
	w := New(t, registry)
	require.NoError(t, pgx.BeginFunc(t.Context(), w.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Conn().PgConn().Exec(t.Context(), string(script)).ReadAll(); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `
			insert into feed.checkpoints (name, version, generation, live, log_id, epoch) values ($1, $2, 1, true, $3, $4)`,
			p.Name, p.Version, w.Identity.LogID, w.Identity.Epoch)
		return err
	}))

	// It goes on with the tables that are there.
	w.Project(t, p)
	overview, err := w.Projector.Overview(t.Context())
	require.NoError(t, err)
	require.Len(t, overview.Generations, 1)
	require.Equal(t, feed.GenerationCurrent, overview.Generations[0].State)

	// And an earlier release goes on with the tables that it makes.
	_, err = w.Projector.Rebuild(t.Context(), nil, false)
	require.NoError(t, err)
	var accepted bool
	require.NoError(t, w.Pool.QueryRow(context.Background(),
		`select count(*) = 2 and count(distinct tables_digest) = 1 from feed.generations`).Scan(&accepted))
	require.True(t, accepted, "earlier releases of %s refuse the tables of this one", p.Model)
}
