package postgres_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

func TestAPoolHasLimitsUnlessItsURLSetsThem(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		parameters  string
		application string
		idle        string
		connections int32
	}{
		"nothing set": {"", "recitald", "5min", 16},
		"all set": {"&application_name=other&idle_in_transaction_session_timeout=7s&pool_max_conns=3&timezone=Asia/Tokyo",
			"other", "7s", 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pool, err := postgres.NewPool(t.Context(), pgtest.URL(t)+c.parameters, "")
			require.NoError(t, err)
			defer pool.Close()

			var application, idle, zone string
			require.NoError(t, pool.QueryRow(t.Context(), `select current_setting('application_name'),
				current_setting('idle_in_transaction_session_timeout'), current_setting('timezone')`).Scan(&application, &idle,
				&zone))
			require.Equal(t, c.application, application)
			require.Equal(t, c.idle, idle)
			require.Equal(t, "UTC", zone)
			if c.parameters != "" {
				require.Equal(t, c.connections, pool.Config().MaxConns)
			} else {
				require.GreaterOrEqual(t, pool.Config().MaxConns, c.connections)
			}
		})
	}
}

// ping connects to a database.
func ping(t *testing.T, address string) error {
	t.Helper()
	pool, err := postgres.NewPool(t.Context(), address, "")
	if err != nil {
		return err
	}
	defer pool.Close()
	return pool.Ping(t.Context())
}

func TestErrorsDoNotContainThePassword(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{
		"no listener":     "postgres://somebody:hunter2@127.0.0.1:1/db",
		"not an address":  "postgres://somebody:hunter2@127.0.0.1:port/db",
		"unknown setting": "postgres://somebody:hunter2@127.0.0.1:1/db?sslmode=perhaps",
		"key and value":   "host=127.0.0.1 port=1 user=somebody password=hunter2 sslmode=perhaps",
	} {
		t.Run(name, func(t *testing.T) {
			err := ping(t, address)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestAHeldPoolDoesNotConnectBeforeItIsReleased(t *testing.T) {
	t.Parallel()
	// given a Postgres that answers, and a pool that may not use it yet
	pool, release, hold, err := postgres.NewHeldPool(t.Context(), pgtest.URL(t), "")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	connect := func() error { // a connection outside of the pool
		connection, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
		if err != nil {
			return err
		}
		return connection.Close(t.Context())
	}

	// then it is away for all users
	for range 2 {
		require.True(t, postgres.IsAway(pool.Ping(t.Context())))
		require.True(t, postgres.IsAway(connect()))
	}

	// when it is released, then it is there
	release()
	require.NoError(t, pool.Ping(t.Context()))
	require.NoError(t, connect())

	// and when it is held again, then it is away for existing connections, too
	hold()
	require.True(t, postgres.IsAway(pool.Ping(t.Context())))
}

func TestErrorsThatMeanThatPostgresIsAway(t *testing.T) {
	t.Parallel()
	for address, away := range map[string]bool{
		"postgres://somebody@127.0.0.1:1/db":  true,
		"postgres://somebody@/db?host=/none":  true,
		pgtest.URL(t) + "&dbname=missing":     false,
		pgtest.URL(t) + "&user=nobody_at_all": false,
	} {
		err := ping(t, address)
		require.Error(t, err, address)
		require.Equal(t, away, postgres.IsAway(err), "%v", err)
	}
	require.False(t, postgres.IsAway(errors.New("another keyring")))
}
