package eventnode_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/cockroachdb/pebble/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/eventnode/nodetest"
)

// Sizes of the events that are measured, in bytes.
const (
	benchData     = 240
	benchMetadata = 60
)

func benchEvent() esdb.EventData {
	return esdb.EventData{
		EventID: uuid.New(), EventType: "measured", ContentType: esdb.ContentTypeBinary,
		Data: make([]byte, benchData), Metadata: make([]byte, benchMetadata),
	}
}

// BenchmarkAppend measures durable appends of one event through the client, each writer on a stream of its own,
// beside Pebble alone: one goroutine that writes event and index key of all waiting writers in one synced batch.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			bare := barePebble(b, writers, b.N)
			client := nodetest.Client(b, nodetest.Start(b))
			appendTo(b, client, "warm", esdb.Any{}, benchEvent())

			b.ResetTimer()
			shareWork(writers, b.N, func(writer, _ int) {
				_, err := client.AppendToStream(context.Background(), fmt.Sprintf("writer-%d", writer),
					esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, benchEvent())
				if err != nil {
					b.Error(err)
				}
			})
			b.StopTimer()

			rate := float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "events/s")
			b.ReportMetric(bare, "pebble-events/s")
			b.ReportMetric(rate/bare, "ratio")
		})
	}
}

// shareWork runs n calls on the writers.
func shareWork(writers, n int, work func(writer, i int)) {
	var next atomic.Int64
	var running sync.WaitGroup
	for writer := range writers {
		running.Go(func() {
			for {
				i := int(next.Add(1))
				if i > n {
					return
				}
				work(writer, i)
			}
		})
	}
	running.Wait()
}

// barePebble is the rate of n durable writes by Pebble alone.
func barePebble(b *testing.B, writers, n int) float64 {
	b.Helper()
	db := openBare(b, nodetest.Dir(b))
	defer func() { require.NoError(b, db.Close()) }()
	type write struct {
		key, index, value []byte
		done              chan struct{}
	}
	queue := make(chan write, writers)
	committed := make(chan struct{})
	go func() {
		defer close(committed)
		for first := range queue {
			group := []write{first}
			for waiting := len(queue); waiting > 0; waiting-- {
				group = append(group, <-queue)
			}
			batch := db.NewBatch()
			for _, w := range group {
				_ = batch.Set(w.key, w.value, nil)
				_ = batch.Set(w.index, w.key, nil)
			}
			if err := batch.Commit(pebble.Sync); err != nil {
				b.Error(err)
			}
			for _, w := range group {
				close(w.done)
			}
		}
	}()
	start := time.Now()
	shareWork(writers, n, func(writer, i int) {
		w := write{value: make([]byte, benchData+benchMetadata), done: make(chan struct{})}
		w.key = binary.BigEndian.AppendUint64([]byte{'e'}, uint64(i))
		w.index = binary.BigEndian.AppendUint64(fmt.Appendf(nil, "swriter-%d", writer), uint64(i))
		queue <- w
		<-w.done
	})
	elapsed := time.Since(start)
	close(queue)
	<-committed
	return float64(n) / elapsed.Seconds()
}

func openBare(b *testing.B, dir string) *pebble.DB {
	b.Helper()
	db, err := pebble.Open(filepath.Join(dir, "bare"), &pebble.Options{
		MemTableSize: 32 << 20, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{},
	})
	require.NoError(b, err)
	return db
}

type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// BenchmarkCatchUp measures a subscription to a log of 100,000 events through the client, beside a scan of the same
// number of values by Pebble alone.
func BenchmarkCatchUp(b *testing.B) {
	const total, batch = 100_000, 500
	bare := scanBare(b, total)
	client := nodetest.Client(b, nodetest.Start(b))
	for first := 0; first < total; first += batch {
		list := make([]esdb.EventData, batch)
		for i := range list {
			list[i] = benchEvent()
		}
		appendTo(b, client, fmt.Sprintf("stream-%d", first%7), esdb.Any{}, list...)
	}

	b.ResetTimer()
	for range b.N {
		subscription, err := client.SubscribeToAll(context.Background(), esdb.SubscribeToAllOptions{From: esdb.Start{}})
		require.NoError(b, err)
		for seen := 0; seen < total; seen++ {
			if subscription.Recv().EventAppeared == nil {
				b.Fatal("the subscription sent something else than an event")
			}
		}
		require.NoError(b, subscription.Close())
	}
	b.StopTimer()

	rate := float64(b.N) * total / b.Elapsed().Seconds()
	b.ReportMetric(rate, "events/s")
	b.ReportMetric(bare, "pebble-events/s")
	b.ReportMetric(rate/bare, "ratio")
}

// scanBare is the rate at which Pebble alone scans n events.
func scanBare(b *testing.B, n int) float64 {
	b.Helper()
	db := openBare(b, nodetest.Dir(b))
	defer func() { require.NoError(b, db.Close()) }()
	batch := db.NewBatch()
	for i := range n {
		require.NoError(b, batch.Set(binary.BigEndian.AppendUint64([]byte{'e'}, uint64(i)), make([]byte, benchData+benchMetadata), nil))
	}
	require.NoError(b, batch.Commit(pebble.NoSync))
	require.NoError(b, db.Flush())
	start := time.Now()
	iter, err := db.NewIter(nil)
	require.NoError(b, err)
	seen, bytes := 0, 0
	for valid := iter.First(); valid; valid = iter.Next() {
		seen++
		bytes += len(iter.Value())
	}
	require.NoError(b, iter.Close())
	require.Equal(b, n, seen)
	return float64(seen) / time.Since(start).Seconds()
}
