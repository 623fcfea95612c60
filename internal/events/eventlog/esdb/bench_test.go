package esdb_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// written is an event of typical size and metadata.
type written struct {
	Text string `json:"text"`
}

func registry(b *testing.B) *eventlog.Registry {
	b.Helper()
	r, err := eventlog.NewRegistry(eventlog.In("bench-", eventlog.Define[written]("log-benchmarked", 1))...)
	require.NoError(b, err)
	return r
}

func typical(b *testing.B, registry *eventlog.Registry, n int) []eventlog.Proposed {
	b.Helper()
	meta := eventlog.Metadata{
		CorrelationID: uuid.NewString(),
		Actor:         eventlog.Actor{Kind: eventlog.ActorAccount, Account: uuid.NewString(), Key: "rk_abcd****wxyz"},
		Time:          time.Now(),
	}
	events := slices.Repeat([]any{written{strings.Repeat("x", 128)}}, n)
	proposed, err := registry.Encode(uuid.New(), 0, meta, events...)
	require.NoError(b, err)
	return proposed
}

// 64 writers with streams of their own, an event at a time: the cost of the client's supervision.
func BenchmarkAppend(b *testing.B) {
	const writers = 64
	socket := nodetest.Start(b)
	types := registry(b)
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
			_, err := log.Append(ctx, stream, eventlog.Revision(revision), typical(b, types, 1))
			return err
		})
	})
	b.Run("bare", func(b *testing.B) {
		client := nodetest.Client(b, socket)
		run(b, func(ctx context.Context, stream string, revision int64) error {
			var expected es.ExpectedRevision = es.NoStream{}
			if revision >= 0 {
				expected = es.Revision(uint64(revision))
			}
			event := typical(b, types, 1)[0]
			_, err := client.AppendToStream(ctx, stream, es.AppendToStreamOptions{ExpectedRevision: expected}, es.EventData{
				EventID: event.ID, EventType: event.Type, ContentType: es.ContentTypeJson, Data: event.Data,
				Metadata: event.Metadata,
			})
			return err
		})
	})
}

// One event of a catch-up subscription from the start: delivered, and decoded after delivery as a projector does.
func BenchmarkCatchUp(b *testing.B) {
	const batch = 1000
	socket := nodetest.Start(b)
	log := open(b, esdb.Config{Socket: socket})
	types := registry(b)
	filled := 0
	fill := func(b *testing.B) {
		for ; filled < b.N; filled += batch {
			_, err := log.Append(b.Context(), "bench-"+uuid.NewString(), eventlog.NoStream, typical(b, types, batch))
			require.NoError(b, err)
		}
		b.ReportAllocs()
		b.ResetTimer()
	}
	follow := func(b *testing.B, take func(eventlog.Recorded) error) {
		fill(b)
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		subscription := log.Subscribe(ctx, eventlog.Start())
		for seen := 0; seen < b.N; {
			delivery := <-subscription.Deliveries()
			if delivery.Kind != eventlog.KindEvent {
				continue
			}
			seen++
			if err := take(delivery.Event); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("log", func(b *testing.B) {
		follow(b, func(eventlog.Recorded) error { return nil })
	})
	b.Run("log decoded", func(b *testing.B) {
		follow(b, func(event eventlog.Recorded) error {
			_, err := types.Decode(event)
			return err
		})
	})
	b.Run("bare", func(b *testing.B) {
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
