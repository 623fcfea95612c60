package eventnode

import (
	"encoding/binary"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/recital-tts/recital/internal/events/protocol"
)

// Any input is decoded as the protobuf library decodes it, and refused when the library refuses it.
func FuzzDecodeAppend(f *testing.F) {
	structured := &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits: -1, LeastSignificantBits: 42,
	}}}
	text := &shared.UUID{Value: &shared.UUID_String_{String_: uuid.NewString()}}
	for _, request := range []*streams.AppendReq{
		{},
		{Content: &streams.AppendReq_Options_{Options: &streams.AppendReq_Options{
			StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte("stream")},
			ExpectedStreamRevision: &streams.AppendReq_Options_Revision{Revision: 3},
		}}},
		seedEvent(structured, []byte("custom"), []byte("data"), "type", "t", "content-type", protocol.ContentTypeJSON,
			"other", ""),
		seedEvent(text, nil, nil, "type", ""),
		seedEvent(nil, nil, nil),
	} {
		encoded, err := proto.Marshal(request)
		require.NoError(f, err)
		f.Add(encoded)
		f.Add(append(encoded, encoded...)) // duplicate fields are merged
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		var want streams.AppendReq
		wantErr := proto.Unmarshal(encoded, &want)

		got, err := decodeAppend(encoded)

		require.Equal(t, wantErr == nil, err == nil, "want %v, got %v", wantErr, err)
		if err != nil {
			return
		}
		require.True(t, proto.Equal(want.GetOptions(), got.options))
		require.Equal(t, want.GetProposedMessage() != nil, got.event != nil)
		if got.event != nil {
			requireEvent(t, want.GetProposedMessage(), got.event)
		}
	})
}

func seedEvent(id *shared.UUID, custom, data []byte, properties ...string) *streams.AppendReq {
	all := map[string]string{}
	for i := 0; i < len(properties); i += 2 {
		all[properties[i]] = properties[i+1]
	}
	return &streams.AppendReq{
		Content: &streams.AppendReq_ProposedMessage_{ProposedMessage: &streams.AppendReq_ProposedMessage{
			Id: id, Metadata: all, CustomMetadata: custom, Data: data,
		}}}
}

func requireEvent(t *testing.T, want *streams.AppendReq_ProposedMessage, got *proposedMessage) {
	t.Helper()
	require.Equal(t, string(want.GetData()), string(got.data))
	require.Equal(t, string(want.GetCustomMetadata()), string(got.custom))
	for property, value := range map[string][]byte{"type": got.kind, "content-type": got.contentType} {
		wanted, found := want.GetMetadata()[property]
		require.Equal(t, found, value != nil)
		require.Equal(t, wanted, string(value))
	}
	id, err := got.id.UUID()
	switch wanted := want.GetId().GetValue().(type) {
	case *shared.UUID_Structured_:
		require.NoError(t, err)
		require.Equal(t, uint64(wanted.Structured.GetMostSignificantBits()), binary.BigEndian.Uint64(id[:8]))
		require.Equal(t, uint64(wanted.Structured.GetLeastSignificantBits()), binary.BigEndian.Uint64(id[8:]))
	case *shared.UUID_String_:
		parsed, wantErr := uuid.Parse(wanted.String_)
		require.Equal(t, wantErr == nil, err == nil)
		if err == nil {
			require.Equal(t, parsed, id)
		}
	default:
		require.Error(t, err)
	}
}

// The same for messages of BatchAppend.
func FuzzDecodeBatchAppend(f *testing.F) {
	id := &shared.UUID{Value: &shared.UUID_String_{String_: uuid.NewString()}}
	event := seedEvent(id, []byte("custom"), []byte("data"), "type", "t", "content-type", protocol.ContentTypeJSON)
	proposed := event.GetProposedMessage()
	for _, request := range []*streams.BatchAppendReq{
		{},
		{CorrelationId: id, IsFinal: true, Options: &streams.BatchAppendReq_Options{
			StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte("stream")},
			ExpectedStreamPosition: &streams.BatchAppendReq_Options_StreamPosition{StreamPosition: 3},
		}},
		{CorrelationId: id, ProposedMessages: []*streams.BatchAppendReq_ProposedMessage{{
			Id: id, Metadata: proposed.GetMetadata(), CustomMetadata: proposed.GetCustomMetadata(), Data: proposed.GetData(),
		}, {}}},
	} {
		encoded, err := proto.Marshal(request)
		require.NoError(f, err)
		f.Add(encoded)
		f.Add(append(encoded, encoded...)) // duplicate fields are merged
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		var want streams.BatchAppendReq
		wantErr := proto.Unmarshal(encoded, &want)

		got, err := decodeBatchAppend(encoded)

		if wantErr != nil && err == nil { // a malformed correlation id is sent back as it is
			require.Error(t, proto.Unmarshal(got.correlation, &shared.UUID{}), "want %v", wantErr)
			return
		}
		require.Equal(t, wantErr == nil, err == nil, "want %v, got %v", wantErr, err)
		if err != nil {
			return
		}
		require.True(t, proto.Equal(want.GetOptions(), got.options))
		require.Equal(t, want.GetIsFinal(), got.final)
		require.Len(t, got.events, len(want.GetProposedMessages()))
		for i, event := range want.GetProposedMessages() {
			requireEvent(t, &streams.AppendReq_ProposedMessage{
				Id: event.GetId(), Metadata: event.GetMetadata(), CustomMetadata: event.GetCustomMetadata(),
				Data: event.GetData(),
			}, got.events[i])
		}
	})
}
