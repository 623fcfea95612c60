package eventnode_test

import (
	"fmt"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

func correlation(id int64) *shared.UUID {
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits: 7, LeastSignificantBits: id,
	}}}
}

// batched returns a message of an append that expects a revision, -1 for a new stream.
func batched(id int64, stream string, revision int64, final bool, types ...string) *streams.BatchAppendReq {
	options := &streams.BatchAppendReq_Options{StreamIdentifier: identifier(stream)}
	options.ExpectedStreamPosition = &streams.BatchAppendReq_Options_StreamPosition{StreamPosition: uint64(revision)}
	if revision < 0 {
		options.ExpectedStreamPosition = &streams.BatchAppendReq_Options_NoStream{NoStream: &emptypb.Empty{}}
	}
	request := &streams.BatchAppendReq{CorrelationId: correlation(id), Options: options, IsFinal: final}
	for _, kind := range types {
		request.ProposedMessages = append(request.ProposedMessages, batchedEvent(kind))
	}
	return request
}

func batchedEvent(kind string) *streams.BatchAppendReq_ProposedMessage {
	return &streams.BatchAppendReq_ProposedMessage{
		Id:       &shared.UUID{Value: &shared.UUID_String_{String_: uuid.NewString()}},
		Metadata: map[string]string{"type": kind, "content-type": "application/json"}, Data: []byte("{}"),
	}
}

// exchange sends messages and returns the responses by correlation id.
func exchange(
	t *testing.T, call streams.Streams_BatchAppendClient, answers int, messages ...*streams.BatchAppendReq,
) map[int64]*streams.BatchAppendResp {
	t.Helper()
	for _, message := range messages {
		require.NoError(t, call.Send(message))
	}
	all := map[int64]*streams.BatchAppendResp{}
	for range answers {
		response, err := call.Recv()
		require.NoError(t, err)
		require.EqualValues(t, 7, response.GetCorrelationId().GetStructured().GetMostSignificantBits())
		all[response.GetCorrelationId().GetStructured().GetLeastSignificantBits()] = response
	}
	require.Len(t, all, answers, "each append is answered once")
	return all
}

func openBatch(t *testing.T, socket string) streams.Streams_BatchAppendClient {
	t.Helper()
	call, err := dialWire(t, socket).BatchAppend(testContext(t))
	require.NoError(t, err)
	return call
}

// Appends of one call do not wait for each other, and the client ends the call when it has its answers.
func TestBatchAppend(t *testing.T) {
	const appends = 300
	socket := nodetest.Start(t)
	call := openBatch(t, socket)
	var messages []*streams.BatchAppendReq
	for id := range int64(appends) {
		messages = append(messages, batched(id, fmt.Sprintf("s-%d", id), -1, true, "a", "b"))
	}

	answers := exchange(t, call, appends, messages...)
	require.NoError(t, call.CloseSend())
	_, err := call.Recv()

	require.ErrorContains(t, err, "EOF")
	recorded := map[string]*esdb.ResolvedEvent{}
	for _, event := range readAll(t, nodetest.Client(t, socket), esdb.ReadAllOptions{}, everything) {
		recorded[fmt.Sprintf("%s@%d", event.Event.StreamID, event.Event.EventNumber)] = event
	}
	require.Len(t, recorded, 2*appends)
	for id, answer := range answers {
		stream := fmt.Sprintf("s-%d", id)
		require.Equal(t, stream, string(answer.GetStreamIdentifier().GetStreamName()))
		require.EqualValues(t, 1, answer.GetSuccess().GetCurrentRevision())
		require.Equal(t, recorded[stream+"@1"].Event.Position.Commit, answer.GetSuccess().GetPosition().GetCommitPosition())
	}
}

// The messages of different appends may be interleaved. Only the first message of each has options.
func TestBatchAppendInParts(t *testing.T) {
	socket := nodetest.Start(t)
	call := openBatch(t, socket)
	rest := batched(1, "", 0, true, "b", "c")
	rest.Options = nil

	answers := exchange(t, call, 2, batched(1, "parts", -1, false, "a"), batched(2, "other", -1, true, "x"), rest)

	require.EqualValues(t, 2, answers[1].GetSuccess().GetCurrentRevision())
	require.EqualValues(t, 0, answers[2].GetSuccess().GetCurrentRevision())
	call2 := openBatch(t, socket)
	repeated := exchange(t, call2, 1, batched(3, "parts", 1, true, "d"))
	require.Equal(t, "WrongExpectedVersion", repeated[3].GetError().GetMessage())
}

// A refused append has the details of EventStoreDB's Status, and the call serves the next one.
func TestBatchAppendRefused(t *testing.T) {
	socket := nodetest.Start(t)
	client := nodetest.Client(t, socket)
	appendTo(t, client, "living", esdb.NoStream{}, events("a", "b", "c")...)
	appendTo(t, client, "ended", esdb.NoStream{}, events("a")...)
	require.NoError(t, tombstone(t, client, "ended", esdb.Any{}))
	call := openBatch(t, socket)
	refused := func(change func(*streams.BatchAppendReq)) *streams.BatchAppendReq {
		request := batched(1, "new", -1, true, "a")
		change(request)
		return request
	}
	for _, c := range []struct {
		name    string
		request *streams.BatchAppendReq
		code    codes.Code
		detail  proto.Message
	}{
		{"a wrong revision", batched(1, "living", 1, true, "a"), codes.AlreadyExists, &shared.WrongExpectedVersion{
			CurrentStreamRevisionOption: &shared.WrongExpectedVersion_CurrentStreamRevision{CurrentStreamRevision: 2},
			ExpectedStreamPositionOption: &shared.WrongExpectedVersion_ExpectedStreamPosition{
				ExpectedStreamPosition: 1},
		}},
		{"an existing stream", batched(1, "living", -1, true, "a"), codes.AlreadyExists, &shared.WrongExpectedVersion{
			CurrentStreamRevisionOption: &shared.WrongExpectedVersion_CurrentStreamRevision{CurrentStreamRevision: 2},
			ExpectedStreamPositionOption: &shared.WrongExpectedVersion_ExpectedNoStream{
				ExpectedNoStream: &emptypb.Empty{}},
		}},
		{"a missing stream", batched(1, "new", 0, true, "a"), codes.AlreadyExists, &shared.WrongExpectedVersion{
			CurrentStreamRevisionOption:  &shared.WrongExpectedVersion_CurrentNoStream{CurrentNoStream: &emptypb.Empty{}},
			ExpectedStreamPositionOption: &shared.WrongExpectedVersion_ExpectedStreamPosition{},
		}},
		{"a deleted stream", batched(1, "ended", 0, true, "a"), codes.NotFound,
			&shared.StreamDeleted{StreamIdentifier: identifier("ended")}},
		{"$all", batched(1, "$all", 0, true, "a"), codes.PermissionDenied, nil},
		{"no name", batched(1, "", 0, true, "a"), codes.InvalidArgument, nil},
		{"a link", batched(1, "new", -1, true, "$>"), codes.Unimplemented, nil},
		{"no expected revision", refused(func(r *streams.BatchAppendReq) {
			r.Options.ExpectedStreamPosition = nil
		}), codes.InvalidArgument, nil},
		{"no id", refused(func(r *streams.BatchAppendReq) { r.ProposedMessages[0].Id = nil }), codes.InvalidArgument, nil},
		{"no type", refused(func(r *streams.BatchAppendReq) {
			delete(r.ProposedMessages[0].Metadata, "type")
		}), codes.InvalidArgument, nil},
		{"too much", refused(func(r *streams.BatchAppendReq) {
			r.ProposedMessages[0].Data = make([]byte, 1<<20)
		}), codes.InvalidArgument, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := exchange(t, call, 1, c.request)[1]

			refusal := status.FromProto(answer.GetError())
			require.Equal(t, c.code, refusal.Code())
			require.NotEmpty(t, refusal.Message())
			if c.detail != nil {
				require.Len(t, refusal.Details(), 1)
				require.True(t, proto.Equal(c.detail, refusal.Details()[0].(proto.Message)), "%v", refusal.Details()[0])
			}
		})
	}
	require.NotNil(t, exchange(t, call, 1, batched(2, "living", 2, true, "d"))[2].GetSuccess())
	require.Len(t, readAll(t, client, esdb.ReadAllOptions{}, everything), 6, "a refused append writes nothing")
}

// The rest of a refused append is ignored, and unfinished appends are limited and never written.
func TestBatchAppendUnfinished(t *testing.T) {
	socket := nodetest.Start(t)
	client := nodetest.Client(t, socket)
	call := openBatch(t, socket)
	rest := batched(1, "", 0, true, "b")
	rest.Options = nil
	answers := exchange(t, call, 2, batched(1, "$all", -1, false, "a"), rest, batched(2, "s", -1, true, "a"))
	require.Equal(t, "Access Denied", answers[1].GetError().GetMessage())
	require.NotNil(t, answers[2].GetSuccess())

	for id := range int64(65) {
		require.NoError(t, call.Send(batched(id, "unfinished", -1, false, "a")))
	}
	_, err := call.Recv()

	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.Len(t, readAll(t, client, esdb.ReadAllOptions{}, everything), 1)
}

// A node that closes ends the call, however idle it is.
func TestCloseEndsBatchAppend(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	call := openBatch(t, nodetest.Socket(dir))
	require.NotNil(t, exchange(t, call, 1, batched(1, "s", -1, true, "a"))[1].GetSuccess())

	require.NoError(t, node.Close())

	_, err := call.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
}
