package duelist_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/postgres/pgtest"
	"github.com/recital-tts/recital/internal/todo/duelist"
)

func mine(t *testing.T, turns *duelist.Turns, process string) bool {
	t.Helper()
	mine, err := turns.Mine(t.Context(), process)
	require.NoError(t, err)
	return mine
}

func TestOneInstanceHasTheTurn(t *testing.T) {
	// given two instances
	pool := pgtest.Empty(t)
	first, second := duelist.NewTurns(pool), duelist.NewTurns(pool)
	defer func() { require.NoError(t, second.Close()) }()

	// when the first one asks first, then it has the turn and keeps it, in that process alone
	require.True(t, mine(t, first, "expiry"))
	require.False(t, mine(t, second, "expiry"))
	require.True(t, mine(t, first, "expiry"))
	require.True(t, mine(t, second, "refresh"))
	require.False(t, mine(t, first, "refresh"))

	// and when it ends, the other one has it
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { return mine(t, second, "expiry") }, patience, time.Millisecond)
	require.NoError(t, first.Close(), "again")
}

func TestTheTurnOfALostConnectionIsFree(t *testing.T) {
	// given an instance with the turn
	pool := pgtest.Empty(t)
	first, second := duelist.NewTurns(pool), duelist.NewTurns(pool)
	defer func() { require.NoError(t, first.Close()); require.NoError(t, second.Close()) }()
	require.True(t, mine(t, first, "expiry"))

	// when its session is ended
	_, err := pool.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_locks
		where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`)
	require.NoError(t, err)

	// then the other one gets the turn, and the first one notices and can have it again later
	require.Eventually(t, func() bool { return mine(t, second, "expiry") }, patience, time.Millisecond)
	require.Eventually(t, func() bool {
		mine, err := first.Mine(t.Context(), "expiry")
		return err == nil && !mine
	}, patience, 10*time.Millisecond)
	require.NoError(t, second.Close())
	require.Eventually(t, func() bool { return mine(t, first, "expiry") }, patience, time.Millisecond)
}

func TestOfManyInstancesOneHasTheTurn(t *testing.T) {
	pool := pgtest.Empty(t)
	var have atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		turns := duelist.NewTurns(pool)
		t.Cleanup(func() { require.NoError(t, turns.Close()) })
		wait.Go(func() {
			mine, err := turns.Mine(t.Context(), "expiry")
			assert.NoError(t, err)
			if mine {
				have.Add(1)
			}
		})
	}
	wait.Wait()
	require.EqualValues(t, 1, have.Load())
}
