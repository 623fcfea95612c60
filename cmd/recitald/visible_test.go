package main_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/postgres"
)

func TestAReplyWaitsUntilItsUsageIsVisible(t *testing.T) {
	t.Parallel()
	s := start(t, dataFolder(t))
	c := s.openAccount("free")
	text := order{"text": prose(100), "voice": "leah"}

	// given read models that can be read but not written
	unlock := s.lockUsage()

	// when speech is synthesised, then the reply reports that the account does not show it yet
	late := once(t, c.request(http.MethodPost, detailedRoute, text.encode()))
	require.Equal(t, 200, late.status)
	require.Equal(t, "true", late.header.Get("X-Recital-Stale"))
	require.Zero(t, c.usage(t))

	// when they can be written again, then a request with the reply's position shows it
	unlock()
	require.EqualValues(t, 100, c.usage(t, "X-Recital-Min-Position", late.header.Get("X-Recital-Position")))

	// and replies wait for it again
	used := int64(100)
	s.eventually(func() bool {
		used += 100
		prompt := once(t, c.request(http.MethodPost, detailedRoute, text.encode()))
		return prompt.status == 200 && prompt.header.Get("X-Recital-Stale") == ""
	})
	require.Equal(t, used, c.usage(t))
}

// lockUsage blocks all writes to the read model of usage.
func (s *server) lockUsage() (unlock func()) {
	s.t.Helper()
	ctx := s.t.Context()
	connection, err := pgx.Connect(ctx, postgres.SocketURL(filepath.Join(s.data, "postgres", "run"), postgres.Database))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = connection.Close(ctx) })
	transaction, err := connection.Begin(ctx)
	require.NoError(s.t, err)
	// the views' tables
	_, err = transaction.Exec(ctx, "lock table read_v1.usage_periods, read_v1.open_reservations in share mode")
	require.NoError(s.t, err)
	return func() {
		s.t.Helper()
		require.NoError(s.t, transaction.Rollback(ctx))
	}
}
