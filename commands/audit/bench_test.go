package audit_test

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb/esdbtest"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkVerify checks a log of 100,000 events (10,000 with -short) against its heads. The baseline only reads it.
func BenchmarkVerify(b *testing.B) {
	const batch = 500
	total := benchtest.Size(100_000, 10_000)
	c := newChained(b)
	c.journal.Log = esdbtest.Open(b, nodetest.Start(b))
	c.every = 1000
	bytes := 0
	for first := 0; first < total; first += batch {
		var events []eventlog.Proposed
		for range batch {
			data := fmt.Appendf(nil, `{"account":%q,"characters":1234,"text":"%0200d"}`, uuid.NewString(), first)
			meta := fmt.Appendf(nil,
				`{"$correlationId":%q,"commandId":%q,"actor":{"kind":"system"},"v":1,"time":"2026-11-22T12:00:00Z"}`,
				uuid.NewString(), uuid.NewString())
			events = append(events, eventlog.Proposed{ID: uuid.New(), Type: "usage-settled", Data: data, Metadata: meta})
			bytes += len(data) + len(meta)
		}
		_, err := c.journal.Log.Append(b.Context(), fmt.Sprintf("usage-%d", first), eventlog.NoStream, events)
		require.NoError(b, err)
	}
	require.NoError(b, c.instance().Run(b.Context()))
	read := func(each func(eventlog.Recorded)) float64 {
		begun, seen := time.Now(), 0
		for event, err := range logcopy.Read(b.Context(), c.journal.Log, eventlog.Start(), eventlog.Start()) {
			require.NoError(b, err)
			each(event)
			seen++
		}
		return float64(seen) / time.Since(begun).Seconds()
	}
	bare := read(func(eventlog.Recorded) {})

	var ours float64
	b.ResetTimer()
	for range b.N {
		config := c.config(nil, nil, nil)
		signer := c.instance()
		config.Heads = func(from uint64) iter.Seq2[chain.LoggedHead, error] { return signer.From(b.Context(), from) }
		verifier, err := chain.NewVerifier(config)
		require.NoError(b, err)
		var last eventlog.Position
		ours = read(func(e eventlog.Recorded) {
			last = e.Position
			require.NoError(b, verifier.Add(e))
		})
		report, err := verifier.End(last)
		require.NoError(b, err)
		require.True(b, report.Intact(), "%v", report.Findings)
		require.NoError(b, verifier.Close())
	}
	b.StopTimer()
	b.ReportMetric(ours*float64(bytes)/float64(total)/1e6, "MB/s")
	benchtest.Compare(b, "events/s", ours, bare)
	benchtest.Finish(b)
}
