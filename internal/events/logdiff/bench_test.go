package logdiff_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/logdiff"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkComparison compares a log of 200,000 events (20,000 with -short) with a copy in memory, relative to the
// hashing of the audit chain, which the same check does anyway.
func BenchmarkComparison(b *testing.B) {
	log := made(benchtest.Size(200_000, 20_000))
	for i := range log {
		log[i].Data = fmt.Appendf(nil, `{"n":%0300d}`, i)
		log[i].Metadata = fmt.Appendf(nil, `{"commandId":%0200d}`, i)
	}
	rate := func(work func()) float64 {
		begun := time.Now()
		work()
		return float64(len(log)) / time.Since(begun).Seconds()
	}
	bare := rate(func() {
		hasher := chain.Hasher{State: chain.Start()}
		for _, e := range log {
			hasher.Add(e)
		}
	})
	var ours float64
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		ours = rate(func() {
			c, err := logdiff.New("copy", after(log), nil)
			require.NoError(b, err)
			for _, e := range log {
				require.NoError(b, c.Add(e))
			}
			report, err := c.End()
			require.NoError(b, err)
			require.True(b, report.Same())
			require.NoError(b, c.Close())
		})
	}
	b.StopTimer()
	benchtest.Compare(b, "events/s", ours, bare)
	benchtest.Finish(b)
}
