package journal_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb/esdbtest"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkOrigin executes commands with the client's address. The baseline has none. It measures the time and the
// allocations (including the event node's), and counts the keyring's queries to Postgres.
func BenchmarkOrigin(b *testing.B) {
	const each = 50
	s := newSealing(b)
	s.Observe = nil
	s.log.Log = esdbtest.Open(b, nodetest.Start(b))
	run := 0
	measure := func(origin journal.Origin) (microseconds, allocations float64) {
		run++
		cached := journal.NewCached(s.Journal, whole(fmt.Sprint("counter-", run)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begun := time.Now()
		for i := range each {
			_, _, err := cached.Execute(b.Context(), add{fmt.Sprint(i), 1}, origin.Metadata(uuid.New(), noon))
			require.NoError(b, err)
		}
		took := time.Since(begun)
		runtime.ReadMemStats(&after)
		return float64(took.Microseconds()) / each, float64(after.Mallocs-before.Mallocs) / each
	}
	measure(owner("a1"))
	queries, commands := s.pool.Stat().AcquireCount(), 0
	var ours, bare, oursAllocated, bareAllocated float64
	for b.Loop() {
		took, allocated := measure(owner("a1"))
		ours, oursAllocated = ours+took, oursAllocated+allocated
		took, allocated = measure(owner("a1").WithoutClient())
		bare, bareAllocated = bare+took, bareAllocated+allocated
		commands += each
	}
	n := float64(commands) / each
	benchtest.Compare(b, "us", ours/n, bare/n)
	benchtest.Compare(b, "allocs", oursAllocated/n, bareAllocated/n)
	b.ReportMetric(float64(s.pool.Stat().AcquireCount()-queries)/float64(commands), "queries")
	benchtest.Finish(b)
}
