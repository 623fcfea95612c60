package ledger_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/ledger"
)

const streamsAtOnce = 64

// atOnce runs 64 concurrent streams of an account, distributed over the ledgers, each with the given number of
// replies of 10 characters of which 7 are settled.
func atOnce(t *testing.T, id string, replies int, ledgers ...*commands.Ledger) {
	t.Helper()
	var wait sync.WaitGroup
	for i := range streamsAtOnce {
		keeper := ledgers[i%len(ledgers)]
		wait.Go(func() {
			for range replies {
				commandstest.Settle(t, keeper, commandstest.Reserve(t, keeper, id, 10), 7)
			}
		})
	}
	wait.Wait()
}

// One instance never conflicts with itself. With several, a success makes each other one fail at most once, after which
// it has read the newer events. So conflicts do not cause further conflicts, with any number of streams.
func TestManyStreamsOfOneAccountAreNoConflictStorm(t *testing.T) {
	const replies = 10
	for _, instances := range []int{1, 3} {
		w := newWorld(t)
		id := w.Open("enterprise")
		ledgers := make([]*commands.Ledger, instances)
		for i := range ledgers {
			ledgers[i] = w.Ledger()
		}
		before := w.Log.Appends.Load()
		atOnce(t, id, replies, ledgers...)

		attempts, conflicts := w.Log.Appends.Load()-before, w.Log.Conflicts.Load()
		succeeded := attempts - conflicts
		t.Logf("%d instances: %d commands in %d appends, %d conflicts", instances, 2*streamsAtOnce*replies, succeeded,
			conflicts)
		require.LessOrEqual(t, succeeded, int64(2*streamsAtOnce*replies), "a command is written once")
		require.LessOrEqual(t, conflicts, int64(instances-1)*succeeded)
		b := w.Books(id)
		require.EqualValues(t, streamsAtOnce*replies*7, b.Settled)
		require.Empty(t, b.Open)
	}
}

// A month of heavy use: more than 10,000 events, ten sums. A starting instance reads no more than the events since the
// last snapshot.
func TestAMonthOfHeavyUseIsReadInBoundedTime(t *testing.T) {
	if testing.Short() {
		t.Skip("a month takes a while to write; make test-long runs it")
	}
	const rounds, replies = 4, 20
	w := newWorld(t)
	id := w.Open("enterprise")
	warm := w.Ledger()
	grant(t, warm, id, "g", 1_000)
	open := 0
	for range rounds {
		atOnce(t, id, replies, warm)
		for range 5 { // these remain open
			commandstest.Reserve(t, warm, id, 1)
			open++
		}
		before := w.Log.Read(w.Stream(id))
		cold := w.NewLedger()
		commandstest.Settle(t, cold, commandstest.Reserve(t, cold, id, 10), 7)
		cold.Close()
		require.LessOrEqual(t, w.Log.Read(w.Stream(id))-before, int64(ledger.SnapshotEvery+open))
	}
	b := w.Books(id)
	t.Logf("%d events, %d sums", len(b.Events), b.Snapshots)
	require.Greater(t, len(b.Events), 10_000)
	require.EqualValues(t, rounds*(streamsAtOnce*replies+1)*7, b.Settled)
	require.Len(t, b.Open, open)
	require.EqualValues(t, 1_000, b.CreditLeft())
	cold := w.NewLedger()
	commandstest.Reserve(t, cold, id, 1)
	cold.Close()
	require.Equal(t, w.Books(id).State, cold.State(w.Stream(id)))
}
