package esdb

import (
	"strconv"
	"testing"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/protocol"
)

// Any message of a subscription is decoded as the protobuf library decodes it.
func FuzzDecodeRead(f *testing.F) {
	event := func(id *shared.UUID, custom, data []byte, contentType, created string) *streams.ReadResp {
		return &streams.ReadResp{Content: &streams.ReadResp_Event{Event: &streams.ReadResp_ReadEvent{
			Event: &streams.ReadResp_ReadEvent_RecordedEvent{
				Id: id, StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte("ledger-1")}, StreamRevision: 7,
				PreparePosition: 300, CommitPosition: 301, CustomMetadata: custom, Data: data,
				Metadata: map[string]string{"type": "settled", "content-type": contentType, "created": created, "other": "o"},
			},
			Position: &streams.ReadResp_ReadEvent_CommitPosition{CommitPosition: 301},
		}}}
	}
	id := structuredID(uuid.MustParse("8f0b4c7e-0b1d-4f43-8f3b-0b8b1f1f0001"))
	text := &shared.UUID{Value: &shared.UUID_String_{String_: "8f0b4c7e-0b1d-4f43-8f3b-0b8b1f1f0001"}}
	for _, response := range []*streams.ReadResp{
		{},
		{Content: &streams.ReadResp_CaughtUp_{CaughtUp: &streams.ReadResp_CaughtUp{}}},
		{Content: &streams.ReadResp_Checkpoint_{Checkpoint: &streams.ReadResp_Checkpoint{CommitPosition: 7}}},
		{Content: &streams.ReadResp_Confirmation{Confirmation: &streams.ReadResp_SubscriptionConfirmation{}}},
		{Content: &streams.ReadResp_Event{Event: &streams.ReadResp_ReadEvent{}}},
		event(id, []byte("{}"), []byte(`{"characters":7}`), "application/json", "17900000000000000"),
		event(text, nil, nil, "application/octet-stream", "-1"),
		event(id, nil, nil, "", ""),
		event(nil, nil, nil, "", "1"),
	} {
		encoded, err := proto.Marshal(response)
		require.NoError(f, err)
		f.Add(encoded)
		f.Add(append(encoded, encoded...)) // duplicate fields are merged
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		var want streams.ReadResp
		wantErr := proto.Unmarshal(encoded, &want)
		event := want.GetEvent().GetEvent()
		_, undecidable := recordedByLibrary(event)

		var got received
		err := got.decode(encoded)

		switch {
		case wantErr != nil: // it need not notice damage in parts that it skips
		case mixed(encoded): // never sent; the protobuf library keeps the last content, and this one the event
		case event != nil && undecidable != nil:
			require.Error(t, err)
		case event == nil:
			require.NoError(t, err)
			require.Equal(t, received{caughtUp: want.GetCaughtUp() != nil}, got)
		default:
			require.NoError(t, err)
			wanted, _ := recordedByLibrary(event)
			require.Equal(t, wanted, clean(*got.event))
		}
	})
}

// mixed reports whether a message has an event and other fields.
func mixed(encoded []byte) bool {
	event, other := false, false
	err := protocol.EachField(encoded, func(f protocol.Field) error {
		if f.Is() == protocol.BytesField(protocol.FieldRespEvent) {
			event = true
		} else {
			other = true
		}
		return nil
	})
	return err == nil && event && other
}

// recordedByLibrary converts an event as the library does. It returns an error where the library ends the process.
func recordedByLibrary(event *streams.ReadResp_ReadEvent_RecordedEvent) (eventlog.Recorded, error) {
	id, err := uuid.Parse(event.GetId().GetString_())
	if structured := event.GetId().GetStructured(); structured != nil {
		id, err = es.ParseUUIDFromInt64(structured.GetMostSignificantBits(), structured.GetLeastSignificantBits())
	}
	if err != nil {
		return eventlog.Recorded{}, err
	}
	created, err := strconv.ParseInt(event.GetMetadata()["created"], 10, 64)
	return clean(recorded(&es.RecordedEvent{
		EventID:      id,
		EventType:    event.GetMetadata()["type"],
		ContentType:  event.GetMetadata()["content-type"],
		StreamID:     string(event.GetStreamIdentifier().GetStreamName()),
		EventNumber:  event.GetStreamRevision(),
		CreatedDate:  time.Unix(0, created*100).UTC(),
		Position:     es.Position{Commit: event.GetCommitPosition(), Prepare: event.GetPreparePosition()},
		Data:         event.GetData(),
		UserMetadata: event.GetCustomMetadata(),
	})), err
}

// clean replaces empty slices by nil.
func clean(event eventlog.Recorded) eventlog.Recorded {
	if len(event.Data) == 0 {
		event.Data = nil
	}
	if len(event.Metadata) == 0 {
		event.Metadata = nil
	}
	return event
}

// An append is encoded as the protobuf library encodes it.
func TestAppendsAreEncodedAsByTheLibrary(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		id := rapid.Int64Min(0).Draw(r, "id")
		stream := rapid.StringN(1, 300, -1).Draw(r, "stream")
		expected := eventlog.Revision(rapid.Int64Min(int64(eventlog.NoStream)).Draw(r, "expected"))
		want := &streams.BatchAppendReq{
			CorrelationId: &shared.UUID{Value: &shared.UUID_Structured_{
				Structured: &shared.UUID_Structured{LeastSignificantBits: id},
			}},
			Options: &streams.BatchAppendReq_Options{
				StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte(stream)},
				ExpectedStreamPosition: &streams.BatchAppendReq_Options_StreamPosition{StreamPosition: uint64(expected)},
			},
			IsFinal: true,
		}
		if expected == eventlog.NoStream {
			want.Options.ExpectedStreamPosition = &streams.BatchAppendReq_Options_NoStream{NoStream: &emptypb.Empty{}}
		}
		var events []eventlog.Proposed
		for range rapid.IntRange(1, 4).Draw(r, "events") {
			event := eventlog.Proposed{
				ID:       uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(r, "event")),
				Type:     rapid.String().Draw(r, "type"),
				Data:     rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "data"),
				Metadata: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "metadata"),
				Binary:   rapid.Bool().Draw(r, "binary"),
			}
			content := "application/json"
			if event.Binary {
				content = "application/octet-stream"
			}
			events = append(events, event)
			want.ProposedMessages = append(want.ProposedMessages, &streams.BatchAppendReq_ProposedMessage{
				Id: structuredID(event.ID), Metadata: map[string]string{"type": event.Type, "content-type": content},
				CustomMetadata: event.Metadata, Data: event.Data,
			})
		}
		var got streams.BatchAppendReq
		require.NoError(r, proto.Unmarshal(encodeAppend(id, stream, expected, events), &got))
		require.True(r, proto.Equal(want, &got), "want %v, got %v", want, &got)
	})
}

// structuredID returns an id in the form in which the client asks for it.
func structuredID(id uuid.UUID) *shared.UUID {
	most, least := es.UUIDAsInt64(id)
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits: most, LeastSignificantBits: least,
	}}}
}
