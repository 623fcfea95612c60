package eventnode

import (
	"strconv"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/events/protocol"
)

// A stored frame is the message that the protobuf library would encode, and the header locates its fields.
func TestRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := rapid.StringN(1, 300, 600).Draw(t, "stream")
		kind := rapid.StringN(1, 40, 80).Draw(t, "kind")
		id := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		custom := rapid.SliceOf(rapid.Byte()).Draw(t, "custom")
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		revision := rapid.Int64Min(0).Draw(t, "revision")
		position := rapid.Uint64Min(1).Draw(t, "position")
		created := rapid.Int64Range(0, 90_000_000_000_000_000).Draw(t, "created") // up to the year 2255

		event := place(propose(stream, id, kind, protocol.ContentTypeJSON, custom, data), revision, position, created)
		r := record(make([]byte, event.size()))
		event.encode(r)

		require.NoError(t, r.check())
		require.Equal(t, id, r.id())
		require.Equal(t, revision, r.revision())
		require.Equal(t, created, protocol.Ticks(r.created()))
		require.Equal(t, stream, string(r.stream()))
		require.Equal(t, kind, string(r.kind()))
		require.Equal(t, string(data), string(r.data()))

		var got streams.ReadResp
		require.NoError(t, proto.Unmarshal(r.frame(), &got))
		want := message(stream, id, kind, custom, data, uint64(revision), position, created)
		require.True(t, proto.Equal(want, &got), "want %v, got %v", want, &got)
	})
}

func message(
	stream string, id uuid.UUID, kind string, custom, data []byte, revision, position uint64, created int64,
) *streams.ReadResp {
	most, least := uint64(0), uint64(0)
	for i := range 8 {
		most, least = most<<8|uint64(id[i]), least<<8|uint64(id[8+i])
	}
	return &streams.ReadResp{Content: &streams.ReadResp_Event{Event: &streams.ReadResp_ReadEvent{
		Event: &streams.ReadResp_ReadEvent_RecordedEvent{
			Id: &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
				MostSignificantBits: int64(most), LeastSignificantBits: int64(least),
			}}},
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)},
			StreamRevision:   revision,
			PreparePosition:  position,
			CommitPosition:   position,
			Metadata: map[string]string{
				"type": kind, "content-type": "application/json", "created": strconv.FormatInt(created, 10),
			},
			CustomMetadata: custom,
			Data:           data,
		},
		Position: &streams.ReadResp_ReadEvent_CommitPosition{CommitPosition: position},
	}}}
}

// created is in units of 100 ns since the Unix epoch.
func TestTicks(t *testing.T) {
	at := time.Date(2026, 11, 21, 1, 2, 3, 400, time.UTC)
	require.Equal(t, at, protocol.TimeOf(protocol.Ticks(at)))
	require.Equal(t, int64(10_000_000), protocol.Ticks(time.Unix(1, 0)))
}

// Damaged records cause an error and never a panic.
func FuzzRecordCheck(f *testing.F) {
	event := place(propose("s", uuid.New(), "t", protocol.ContentTypeJSON, []byte("m"), []byte("d")), 1, 2, 3)
	good := make([]byte, event.size())
	event.encode(good)
	f.Add(good)
	f.Add(good[:recordHeader])
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, value []byte) {
		r := record(value)
		if r.check() != nil {
			return
		}
		_, _, _, _, _ = r.id(), r.stream(), r.kind(), r.data(), r.frame()
	})
}
