package postgres_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

// The list comes from the names of the connections to Postgres.
func TestInstancesAreListedWhileTheyAreConnected(t *testing.T) {
	address := pgtest.URL(t)
	reader, err := postgres.NewPool(t.Context(), address, "")
	require.NoError(t, err)
	defer reader.Close()
	listed := func() []string {
		names, err := postgres.Instances(t.Context(), reader)
		require.NoError(t, err)
		return names
	}
	require.Empty(t, listed())

	for _, name := range []string{"two:/größe 100%", "one:/data", "three:/" + strings.Repeat("x", 100)} {
		pool, err := postgres.NewPool(t.Context(), address, name)
		require.NoError(t, err)
		defer pool.Close()
		require.NoError(t, pool.Ping(t.Context()))
	}
	require.Equal(t, []string{"one:/data", "three:/" + strings.Repeat("x", 47), "two:/größe 100%"}, listed())
}
