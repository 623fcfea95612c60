package eventnode_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/cockroachdb/pebble/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// Sizes of the measured events, in bytes.
const (
	benchData     = 240
	benchMetadata = 60
)

func benchEvents(n int) []esdb.EventData {
	list := make([]esdb.EventData, n)
	for i := range list {
		list[i] = esdb.EventData{
			EventID: uuid.New(), EventType: "measured", ContentType: esdb.ContentTypeBinary,
			Data: make([]byte, benchData), Metadata: make([]byte, benchMetadata),
		}
	}
	return list
}

// report reports the node's rate compared with Pebble alone.
func report(b *testing.B, ours, bare float64) {
	b.Helper()
	benchtest.Compare(b, "events/s", ours, bare)
	benchtest.Finish(b)
}

// BenchmarkAppend measures durable appends through the official client, each writer on its own stream, compared with
// Pebble alone: one goroutine that writes events and index keys of all waiting writers in one synced batch.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 64} {
		for _, events := range []int{1, 100} {
			b.Run(fmt.Sprintf("writers=%d/events=%d", writers, events), func(b *testing.B) {
				bare := barePebble(b, writers, events, b.N)
				client := nodetest.Client(b, nodetest.Start(b))
				appendTo(b, client, "warm", esdb.Any{}, benchEvents(1)...)

				b.ResetTimer()
				shareWork(writers, b.N, func(writer, _ int) {
					_, err := client.AppendToStream(context.Background(), fmt.Sprintf("writer-%d", writer),
						esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, benchEvents(events)...)
					if err != nil {
						b.Error(err)
					}
				})
				b.StopTimer()

				report(b, float64(b.N*events)/b.Elapsed().Seconds(), bare)
			})
		}
	}
}

// BenchmarkCall measures refused appends, which write no events: the cost of the client and gRPC alone.
func BenchmarkCall(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			client := nodetest.Client(b, nodetest.Start(b))
			appendTo(b, client, "there", esdb.Any{}, benchEvents(1)...)

			b.ResetTimer()
			shareWork(writers, b.N, func(_, _ int) {
				_, err := client.AppendToStream(context.Background(), "there",
					esdb.AppendToStreamOptions{ExpectedRevision: esdb.NoStream{}}, benchEvents(1)...)
				if err == nil {
					b.Error("the append is not refused")
				}
			})
			b.StopTimer()

			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// shareWork distributes n calls over the writers.
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

// bareWrite is a writer's part of a batch.
type bareWrite struct {
	keys, indexes, values [][]byte
	done                  chan struct{}
}

func newBareWrite(writer, i, events int) bareWrite {
	w := bareWrite{done: make(chan struct{})}
	for event := range events {
		number := uint64(i*events + event)
		w.keys = append(w.keys, binary.BigEndian.AppendUint64([]byte{'e'}, number))
		w.indexes = append(w.indexes, binary.BigEndian.AppendUint64(fmt.Appendf(nil, "swriter-%d", writer), number))
		w.values = append(w.values, make([]byte, benchData+benchMetadata))
	}
	return w
}

// barePebble returns the rate of events in n durable writes by Pebble alone.
func barePebble(b *testing.B, writers, events, n int) float64 {
	b.Helper()
	db := openBare(b, nodetest.Dir(b))
	defer func() { require.NoError(b, db.Close()) }()
	queue := make(chan bareWrite, writers)
	committed := make(chan struct{})
	go func() {
		defer close(committed)
		for first := range queue {
			commitBare(b, db, first, queue)
		}
	}()
	start := time.Now()
	shareWork(writers, n, func(writer, i int) {
		w := newBareWrite(writer, i, events)
		queue <- w
		<-w.done
	})
	elapsed := time.Since(start)
	close(queue)
	<-committed
	return float64(n*events) / elapsed.Seconds()
}

// commitBare writes the first write and all waiting ones in one batch.
func commitBare(b *testing.B, db *pebble.DB, first bareWrite, queue <-chan bareWrite) {
	group := []bareWrite{first}
	for waiting := len(queue); waiting > 0; waiting-- {
		group = append(group, <-queue)
	}
	batch := db.NewBatch()
	for _, w := range group {
		for i := range w.keys {
			_ = batch.Set(w.keys[i], w.values[i], nil)
			_ = batch.Set(w.indexes[i], w.keys[i], nil)
		}
	}
	if err := batch.Commit(pebble.Sync); err != nil {
		b.Error(err)
	}
	for _, w := range group {
		close(w.done)
	}
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

// BenchmarkCatchUp measures a subscription to a log of 100,000 events (10,000 with -short) through the client, compared
// with a scan of the same number of values by Pebble alone.
func BenchmarkCatchUp(b *testing.B) {
	const batch = 500
	total := benchtest.Size(100_000, 10_000)
	bare := scanBare(b, total)
	client := nodetest.Client(b, nodetest.Start(b))
	for first := 0; first < total; first += batch {
		appendTo(b, client, fmt.Sprintf("stream-%d", first%7), esdb.Any{}, benchEvents(batch)...)
	}

	b.ResetTimer()
	for range b.N {
		subscription, err := client.SubscribeToAll(context.Background(), esdb.SubscribeToAllOptions{From: esdb.Start{}})
		require.NoError(b, err)
		for seen := 0; seen < total; seen++ {
			if subscription.Recv().EventAppeared == nil {
				b.Fatal("the subscription sent a message that is not an event")
			}
		}
		require.NoError(b, subscription.Close())
	}
	b.StopTimer()

	report(b, float64(b.N*total)/b.Elapsed().Seconds(), bare)
}

// BenchmarkDisk measures the disk space of an event with incompressible data, in streams of 100 events, compared with
// its data and metadata alone. It ignores Pebble's log files, which are reused and do not grow with the events.
func BenchmarkDisk(b *testing.B) {
	const batch = 100
	events := benchtest.Size(200_000, 20_000)
	dir := nodetest.Dir(b)
	for range b.N {
		node := nodetest.Open(b, dir)
		client := nodetest.Client(b, nodetest.Socket(dir))
		shareWork(16, events/batch, func(_, i int) {
			list := benchEvents(batch)
			for _, e := range list {
				_, _ = rand.Read(e.Data)
				_, _ = rand.Read(e.Metadata)
			}
			appendTo(b, client, fmt.Sprintf("stream-%d", i), esdb.Any{}, list...)
		})
		require.NoError(b, node.Close())
		require.NoError(b, nodetest.Open(b, dir).Close()) // closing writes the memtable to tables
	}
	b.StopTimer()
	benchtest.Compare(b, "B/event", tableBytes(b, dir)/float64(b.N*events), benchData+benchMetadata)
	benchtest.Finish(b)
}

// tableBytes returns the size of Pebble's tables below a folder.
func tableBytes(b *testing.B, dir string) (sum float64) {
	b.Helper()
	require.NoError(b, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".sst" {
			return err
		}
		info, err := os.Stat(path)
		if err == nil {
			sum += float64(info.Size())
		}
		return err
	}))
	return sum
}

// BenchmarkStart measures the time from Open to the reply to a read of the log's end, compared with Pebble alone on the
// same files, which reads its last entry. RECITAL_BENCH_EVENTS=10000,10000000 sets the lengths of the logs. The
// important figure is the ratio of a long log to the first, which should be 1.
func BenchmarkStart(b *testing.B) {
	var shortest float64
	for i, events := range startSizes(b) {
		dir := nodetest.Dir(b)
		writeLog(b, dir, events)
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			var ours, bare time.Duration
			for range b.N {
				bare += startBare(b, filepath.Join(dir, "log"))
				ours += startNode(b, dir)
			}
			b.StopTimer()
			start := ours.Seconds() * 1000 / float64(b.N)
			if i == 0 {
				shortest = start
			}
			benchtest.Compare(b, "ms/start", start, bare.Seconds()*1000/float64(b.N))
			b.ReportMetric(start/shortest, "of-the-shortest")
			benchtest.Finish(b)
		})
	}
}

func startSizes(b *testing.B) []int {
	b.Helper()
	text := os.Getenv("RECITAL_BENCH_EVENTS")
	if text == "" {
		return slices.Compact([]int{10_000, benchtest.Size(1_000_000, 10_000)})
	}
	var sizes []int
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		require.NoError(b, err)
		sizes = append(sizes, n)
	}
	return sizes
}

// writeLog fills a node's log, in streams of 100 events.
func writeLog(b *testing.B, dir string, events int) {
	b.Helper()
	node := nodetest.Open(b, dir)
	client := nodetest.Client(b, nodetest.Socket(dir))
	const batch = 100
	shareWork(16, events/batch, func(_, i int) {
		_, err := client.AppendToStream(context.Background(), fmt.Sprintf("stream-%d", i),
			esdb.AppendToStreamOptions{ExpectedRevision: esdb.NoStream{}}, benchEvents(batch)...)
		if err != nil {
			b.Error(err)
		}
	})
	require.NoError(b, node.Close())
}

func startNode(b *testing.B, dir string) time.Duration {
	b.Helper()
	begun := time.Now()
	node := nodetest.Open(b, dir)
	client := nodetest.Client(b, nodetest.Socket(dir))
	stream, err := client.ReadAll(context.Background(), esdb.ReadAllOptions{Direction: esdb.Backwards, From: esdb.End{}},
		1)
	require.NoError(b, err)
	_, err = stream.Recv()
	took := time.Since(begun)
	require.NoError(b, err)
	stream.Close()
	require.NoError(b, node.Close())
	return took
}

func startBare(b *testing.B, dir string) time.Duration {
	b.Helper()
	begun := time.Now()
	db, err := pebble.Open(dir, &pebble.Options{MemTableSize: 32 << 20, FormatMajorVersion: pebble.FormatNewest,
		Logger: quiet{}})
	require.NoError(b, err)
	iter, err := db.NewIter(nil)
	require.NoError(b, err)
	require.True(b, iter.Last())
	took := time.Since(begun)
	require.NoError(b, iter.Close())
	require.NoError(b, db.Close())
	return took
}

// scanBare returns the rate at which Pebble alone scans n events.
func scanBare(b *testing.B, n int) float64 {
	b.Helper()
	db := openBare(b, nodetest.Dir(b))
	defer func() { require.NoError(b, db.Close()) }()
	batch := db.NewBatch()
	for i := range n {
		require.NoError(b, batch.Set(binary.BigEndian.AppendUint64([]byte{'e'}, uint64(i)),
			make([]byte, benchData+benchMetadata), nil))
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
