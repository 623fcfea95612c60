package pglist_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/todo/pglist"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

func leads(t *testing.T, locks *pglist.LeaderLocks, process string) bool {
	t.Helper()
	held, err := locks.TryAcquire(t.Context(), process)
	require.NoError(t, err)
	return held
}

func TestOneInstanceLeads(t *testing.T) {
	// given two instances
	pool := pgtest.Empty(t)
	first, second := pglist.NewLeaderLocks(pool), pglist.NewLeaderLocks(pool)
	defer func() { require.NoError(t, second.Close()) }()

	// when the first one asks first, then it leads and keeps leading, in that process only
	require.True(t, leads(t, first, "expiry"))
	require.False(t, leads(t, second, "expiry"))
	require.True(t, leads(t, first, "expiry"))
	require.True(t, leads(t, second, "refresh"))
	require.False(t, leads(t, first, "refresh"))

	// and when it ends, the other one leads
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { return leads(t, second, "expiry") }, patience, time.Millisecond)
	require.NoError(t, first.Close(), "again")
}

func TestTheLockOfALostConnectionIsFree(t *testing.T) {
	// given an instance that leads
	pool := pgtest.Empty(t)
	first, second := pglist.NewLeaderLocks(pool), pglist.NewLeaderLocks(pool)
	defer func() { require.NoError(t, first.Close()); require.NoError(t, second.Close()) }()
	require.True(t, leads(t, first, "expiry"))

	// when its session is ended
	_, err := pool.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_locks
		where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`)
	require.NoError(t, err)

	// then the other one leads, and the first one notices that and can lead again later
	require.Eventually(t, func() bool { return leads(t, second, "expiry") }, patience, time.Millisecond)
	require.Eventually(t, func() bool {
		held, err := first.TryAcquire(t.Context(), "expiry")
		return err == nil && !held
	}, patience, 10*time.Millisecond)
	require.NoError(t, second.Close())
	require.Eventually(t, func() bool { return leads(t, first, "expiry") }, patience, time.Millisecond)
}

func TestOfManyInstancesOneLeads(t *testing.T) {
	pool := pgtest.Empty(t)
	var leaders atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		locks := pglist.NewLeaderLocks(pool)
		t.Cleanup(func() { require.NoError(t, locks.Close()) })
		wait.Go(func() {
			held, err := locks.TryAcquire(t.Context(), "expiry")
			assert.NoError(t, err)
			if held {
				leaders.Add(1)
			}
		})
	}
	wait.Wait()
	require.EqualValues(t, 1, leaders.Load())
}
