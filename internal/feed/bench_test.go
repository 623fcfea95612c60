package feed

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/eventlog"
)

// benchEvents is the length of the log that is rebuilt from; RECITAL_BENCH_EVENTS changes it.
func benchEvents(b *testing.B) int {
	b.Helper()
	text := os.Getenv("RECITAL_BENCH_EVENTS")
	if text == "" {
		return 50_000
	}
	n, err := strconv.Atoi(text)
	require.NoError(b, err)
	return n
}

// BenchmarkRebuild reads a log into an empty read model, beside writing the same rows from memory with unnest, page by
// page, without a log, decoding or checkpoint.
func BenchmarkRebuild(b *testing.B) {
	w := newWorld(b)
	n := benchEvents(b)
	last := w.live(n)
	pages := w.pages(last)
	var took, bare time.Duration
	var grown uint64
	for i := 0; b.Loop(); i++ {
		bare += w.writeBare(pages, fmt.Sprintf("bare%d", i))
		before := heapInUse()
		began := time.Now()
		config := w.config(counters(fmt.Sprintf("list%d", i)))
		config.Limits = Limits{}
		p := start(b, config)
		p.await(last)
		took += time.Since(began)
		grown = max(grown, heapInUse()-min(before, heapInUse()))
		p.stop()
	}
	rounds := float64(b.N)
	b.ReportMetric(float64(n)*rounds/took.Seconds(), "events/s")
	b.ReportMetric(float64(n)*rounds/bare.Seconds(), "bare-events/s")
	b.ReportMetric(bare.Seconds()/took.Seconds(), "ratio")
	b.ReportMetric(float64(grown)/(1<<20), "MiB-grown")
	b.ReportMetric(0, "ns/op")
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// pages decodes the log into pages of the default size.
func (w *world) pages(last eventlog.Position) [][]eventlog.Decoded {
	w.t.Helper()
	var events []eventlog.Decoded
	for _, recorded := range read(w.t, w.log, last) {
		decoded, err := w.registry.Decode(recorded)
		require.NoError(w.t, err)
		events = append(events, decoded)
	}
	return slices.Collect(slices.Chunk(events, defaultPageEvents))
}

func (w *world) writeBare(pages [][]eventlog.Decoded, schema string) time.Duration {
	w.t.Helper()
	m := newMember(counters("bare"), generation{}, newParking(), nil)
	table := m.projection.Tables[0]
	w.exec("create schema " + schema)
	for _, statement := range table.ddl(schema) {
		w.exec(statement)
	}
	writer := newWriter(table, schema)
	var batches []*pgx.Batch
	for _, page := range pages {
		rows, err := m.turnedInto(page)
		require.NoError(w.t, err)
		batch := &pgx.Batch{}
		writer.queue(batch, rows.tables[table])
		batches = append(batches, batch)
	}
	began := time.Now()
	for _, batch := range batches {
		require.NoError(w.t, inRelaxedTransaction(w.t.Context(), w.pool, func(tx pgx.Tx) error {
			return tx.SendBatch(w.t.Context(), batch).Close()
		}))
	}
	return time.Since(began)
}

// BenchmarkAppendToVisible writes 500 events a second and takes the time from the beginning of an append until its row
// can be read, beside the time until a subscription delivers the event.
func BenchmarkAppendToVisible(b *testing.B) {
	w := newWorld(b)
	config := w.config(counters("list"))
	config.Limits = Limits{}
	p := start(b, config)
	p.await(w.live(100))

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	subscription := w.log.Subscribe(ctx, p.Reached())
	arrived := make(chan time.Time, 1)
	go func() {
		for delivery := range subscription.Deliveries() {
			if delivery.Kind == eventlog.KindEvent {
				arrived <- time.Now()
			}
		}
	}()

	var visible, delivered []time.Duration
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	for b.Loop() {
		<-pace.C
		began := time.Now()
		p.await(w.append(w.event()))
		visible = append(visible, time.Since(began))
		delivered = append(delivered, (<-arrived).Sub(began))
	}
	report(b, "visible", visible)
	report(b, "delivered", delivered)
	b.ReportMetric(0, "ns/op")
}

func report(b *testing.B, what string, times []time.Duration) {
	slices.Sort(times)
	at := func(share float64) float64 {
		return float64(times[int(share*float64(len(times)-1))].Microseconds())
	}
	b.ReportMetric(at(0.5), what+"-p50-µs")
	b.ReportMetric(at(0.99), what+"-p99-µs")
}
