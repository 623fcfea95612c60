package migrations_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/migrations"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// applied returns the versions in the order in which they were applied, without goose's own zeroth row.
func applied(t *testing.T, pool *pgxpool.Pool) []int64 {
	t.Helper()
	rows, err := pool.Query(t.Context(), "select version_id from goose_db_version where version_id > 0 order by id")
	require.NoError(t, err)
	defer rows.Close()
	var versions []int64
	for rows.Next() {
		var version int64
		require.NoError(t, rows.Scan(&version))
		versions = append(versions, version)
	}
	require.NoError(t, rows.Err())
	return versions
}

func known(t *testing.T) []int64 {
	t.Helper()
	files, err := fs.Glob(migrations.Files, "*.sql")
	require.NoError(t, err)
	versions := make([]int64, len(files))
	for i, file := range files {
		_, err := fmt.Sscanf(file, "%d_", &versions[i])
		require.NoError(t, err)
	}
	return versions
}

func TestConcurrentInstancesApplyEachMigrationOnce(t *testing.T) {
	// given an empty database and several instances
	pool := pgtest.Empty(t)
	const instances = 6
	outcomes := make(chan error)
	address := pool.Config().ConnString()

	// when they start together
	for range instances {
		go func() {
			own, err := postgres.NewPool(t.Context(), address, "")
			if err != nil {
				outcomes <- err
				return
			}
			defer own.Close()
			outcomes <- migrations.Up(t.Context(), own)
		}()
	}
	for range instances {
		require.NoError(t, <-outcomes)
	}

	// then each migration was applied once, in order, and another start applies none
	require.Equal(t, known(t), applied(t, pool))
	require.NoError(t, migrations.Up(t.Context(), pool))
	require.Equal(t, known(t), applied(t, pool))
}

func TestACheckpointFollowsItsGenerationInWhetherItIsLive(t *testing.T) {
	// given a live generation and another one
	pool := pgtest.New(t)
	exec := func(sql string) {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	exec(`insert into feed.generations (name, version, generation, live, views_digest)
		values ('list', 1, 1, true, ''), ('list', 1, 2, false, '')`)
	exec(`insert into feed.checkpoints (name, version, generation, live, log_id, epoch)
		values ('list', 1, 1, true, gen_random_uuid(), 1), ('list', 1, 2, false, gen_random_uuid(), 1)`)

	// when the other one is promoted, then its checkpoint is the live one
	exec(`update feed.generations set live = false; update feed.generations set live = true where generation = 2`)
	var live int
	require.NoError(t, pool.QueryRow(t.Context(), "select generation from feed.checkpoints where live").Scan(&live))
	require.Equal(t, 2, live)
}

func TestANewerDatabaseIsRefused(t *testing.T) {
	// given a database that a later release has migrated
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), "insert into goose_db_version (version_id, is_applied) values (9999, true)")
	require.NoError(t, err)

	// when this release starts, then it reports that
	require.ErrorContains(t, migrations.Up(t.Context(), pool), "the database is at migration 9999")
}
