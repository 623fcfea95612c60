package esdb_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/eventlog/esdb"
	"github.com/recital-tts/recital/internal/eventnode/nodetest"
)

func typical() eventlog.Proposed {
	return eventlog.Proposed{
		ID:       uuid.New(),
		Type:     "log-benchmarked",
		Data:     []byte(`{"text":"` + strings.Repeat("x", 228) + `"}`),
		Metadata: []byte(`{"v":1,"command":"` + strings.Repeat("x", 40) + `"}`),
	}
}

// 64 writers with streams of their own, an event at a time: what the client's supervision costs.
func BenchmarkAppend(b *testing.B) {
	const writers = 64
	socket := nodetest.Start(b)
	run := func(b *testing.B, write func(ctx context.Context, stream string, revision int64) error) {
		b.SetParallelism(writers / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			stream := "bench-" + uuid.NewString()
			for revision := int64(-1); pb.Next(); revision++ {
				if err := write(b.Context(), stream, revision); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.Run("log", func(b *testing.B) {
		log := open(b, esdb.Config{Socket: socket})
		run(b, func(ctx context.Context, stream string, revision int64) error {
			_, err := log.Append(ctx, stream, eventlog.Revision(revision), []eventlog.Proposed{typical()})
			return err
		})
	})
	b.Run("bare client", func(b *testing.B) {
		client := nodetest.Client(b, socket)
		run(b, func(ctx context.Context, stream string, revision int64) error {
			var expected es.ExpectedRevision = es.NoStream{}
			if revision >= 0 {
				expected = es.Revision(uint64(revision))
			}
			event := typical()
			_, err := client.AppendToStream(ctx, stream, es.AppendToStreamOptions{ExpectedRevision: expected}, es.EventData{
				EventID: event.ID, EventType: event.Type, ContentType: es.ContentTypeJson, Data: event.Data, Metadata: event.Metadata,
			})
			return err
		})
	})
}

// One event of a catch-up subscription from the start.
func BenchmarkCatchUp(b *testing.B) {
	const batch = 1000
	socket := nodetest.Start(b)
	log := open(b, esdb.Config{Socket: socket})
	filled := 0
	fill := func(b *testing.B) {
		for ; filled < b.N; filled += batch {
			events := make([]eventlog.Proposed, batch)
			for i := range events {
				events[i] = typical()
			}
			_, err := log.Append(b.Context(), "bench-"+uuid.NewString(), eventlog.NoStream, events)
			require.NoError(b, err)
		}
		b.ResetTimer()
	}
	b.Run("log", func(b *testing.B) {
		fill(b)
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		subscription := log.Subscribe(ctx, eventlog.Start())
		for range b.N {
			<-subscription.Deliveries()
		}
	})
	b.Run("bare client", func(b *testing.B) {
		fill(b)
		client := nodetest.Client(b, socket)
		subscription, err := client.SubscribeToAll(b.Context(), es.SubscribeToAllOptions{From: es.Start{}})
		require.NoError(b, err)
		defer func() { require.NoError(b, subscription.Close()) }()
		for seen := 0; seen < b.N; {
			message := subscription.Recv()
			require.Nil(b, message.SubscriptionDropped)
			if message.EventAppeared != nil {
				seen++
			}
		}
	})
}
