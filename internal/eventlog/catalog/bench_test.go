package catalog_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/eventlog/catalog"
)

// BenchmarkDecode reads events with the metadata of a request.
func BenchmarkDecode(b *testing.B) {
	registry, err := catalog.Registry()
	require.NoError(b, err)
	meta := eventlog.Metadata{
		CorrelationID: uuid.New(),
		Actor:         eventlog.Actor{Kind: eventlog.ActorAccount, Account: uuid.NewString(), Key: "rk_abcd****wxyz"},
		Time:          noon,
	}
	for _, e := range examples {
		proposed, err := registry.Encode(uuid.New(), 0, meta, e.event)
		require.NoError(b, err)
		recorded := eventlog.Recorded{ID: proposed[0].ID, Type: proposed[0].Type, Data: proposed[0].Data, Metadata: proposed[0].Metadata}
		b.Run(e.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := registry.Decode(recorded); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
