package commands_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/domain/ledger"
)

const streamsAtOnce = 64

// atOnce has an account speak in 64 streams at once, in turn through the ledgers, each so many replies of 10 characters
// with 7 settled.
func atOnce(t *testing.T, id string, replies int, ledgers ...*commands.Ledger) {
	t.Helper()
	var wait sync.WaitGroup
	for i := range streamsAtOnce {
		keeper := ledgers[i%len(ledgers)]
		wait.Go(func() {
			for range replies {
				settle(t, keeper, reserve(t, keeper, id, 10), 7)
			}
		})
	}
	wait.Wait()
}

// One instance never conflicts with itself. With several, a success lets each other one fail once at most: then it has
// read what it missed. So conflicts do not feed on each other, however many streams there are.
func TestManyStreamsOfOneAccountAreNoConflictStorm(t *testing.T) {
	const replies = 20
	for _, instances := range []int{1, 3} {
		w := newWorld(t)
		id := w.open("enterprise")
		ledgers := make([]*commands.Ledger, instances)
		for i := range ledgers {
			ledgers[i] = w.ledger()
		}
		before := w.log.appends.Load()
		atOnce(t, id, replies, ledgers...)

		attempts, conflicts := w.log.appends.Load()-before, w.log.conflicts.Load()
		succeeded := attempts - conflicts
		t.Logf("%d instances: %d commands in %d appends, %d conflicts", instances, 2*streamsAtOnce*replies, succeeded, conflicts)
		require.LessOrEqual(t, succeeded, int64(2*streamsAtOnce*replies), "a command is written once")
		require.LessOrEqual(t, conflicts, int64(instances-1)*succeeded)
		b := w.books(id)
		require.EqualValues(t, streamsAtOnce*replies*7, b.Settled)
		require.Empty(t, b.Open)
	}
}

// A month of heavy use: more than 20,000 events. Whenever an instance starts, it reads no more than what came since the
// last sum.
func TestAMonthOfHeavyUseIsReadInBoundedTime(t *testing.T) {
	const rounds, replies = 8, 20
	w := newWorld(t)
	id := w.open("enterprise")
	warm := w.ledger()
	grant(t, warm, id, "g", 1_000)
	open := 0
	for range rounds {
		atOnce(t, id, replies, warm)
		for range 5 { // these stay open
			reserve(t, warm, id, 1)
			open++
		}
		w.log.reads.Store(0)
		cold := w.newLedger()
		settle(t, cold, reserve(t, cold, id, 10), 7)
		cold.Close()
		require.LessOrEqual(t, w.log.reads.Load(), int64(ledger.SumEvery+open))
	}
	b := w.books(id)
	t.Logf("%d events, %d sums", len(b.events), b.sums)
	require.Greater(t, len(b.events), 20_000)
	require.EqualValues(t, rounds*(streamsAtOnce*replies+1)*7, b.Settled)
	require.Len(t, b.Open, open)
	require.EqualValues(t, 1_000, b.CreditLeft())
	cold := w.newLedger()
	reserve(t, cold, id, 1)
	cold.Close()
	require.Equal(t, w.books(id).State, cold.State(w.stream(id)))
}
