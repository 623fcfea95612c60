package eventnode_test

import (
	"context"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// wire is a client without the official client's interpretation. Tests check statuses and trailers with both.
type wire struct {
	streams.StreamsClient
	connection *grpc.ClientConn
}

func dialWire(t *testing.T, socket string) wire {
	t.Helper()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, connection.Close()) })
	return wire{StreamsClient: streams.NewStreamsClient(connection), connection: connection}
}

func identifier(stream string) *shared.StreamIdentifier {
	return &shared.StreamIdentifier{StreamName: []byte(stream)}
}

func anyRevision(stream string) *streams.AppendReq {
	return &streams.AppendReq{Content: &streams.AppendReq_Options_{Options: &streams.AppendReq_Options{
		StreamIdentifier:       identifier(stream),
		ExpectedStreamRevision: &streams.AppendReq_Options_Any{Any: &shared.Empty{}},
	}}}
}

func message(data []byte, properties ...string) *streams.AppendReq {
	all := map[string]string{}
	for i := 0; i < len(properties); i += 2 {
		all[properties[i]] = properties[i+1]
	}
	return &streams.AppendReq{
		Content: &streams.AppendReq_ProposedMessage_{ProposedMessage: &streams.AppendReq_ProposedMessage{
			Id:       &shared.UUID{Value: &shared.UUID_String_{String_: "11111111-2222-3333-4444-555555555555"}},
			Metadata: all, Data: data,
		}}}
}

// append sends the requests and returns the response, its trailers and error.
func (w wire) append(t *testing.T, requests ...*streams.AppendReq) (*streams.AppendResp, metadata.MD, error) {
	t.Helper()
	call, err := w.Append(testContext(t))
	require.NoError(t, err)
	for _, request := range requests {
		require.NoError(t, call.Send(request), "the request must be read to its end")
	}
	response, err := call.CloseAndRecv()
	return response, call.Trailer(), err
}

// read receives all messages of a read.
func (w wire) read(t *testing.T, options *streams.ReadReq_Options) ([]*streams.ReadResp, metadata.MD, error) {
	t.Helper()
	if options.UuidOption == nil {
		options.UuidOption = &streams.ReadReq_Options_UUIDOption{
			Content: &streams.ReadReq_Options_UUIDOption_Structured{Structured: &shared.Empty{}},
		}
	}
	call, err := w.Read(testContext(t), &streams.ReadReq{Options: options})
	require.NoError(t, err)
	var all []*streams.ReadResp
	for {
		response, err := call.Recv()
		if err != nil {
			return all, call.Trailer(), err
		}
		all = append(all, response)
	}
}

func readStreamOptions(stream string) *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
			StreamIdentifier: identifier(stream),
			RevisionOption:   &streams.ReadReq_Options_StreamOptions_Start{Start: &shared.Empty{}},
		}},
		CountOption: &streams.ReadReq_Options_Count{Count: 10},
	}
}

func readAllOptions() *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
			AllOption: &streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}},
		}},
		CountOption: &streams.ReadReq_Options_Count{Count: 10},
	}
}

func filtered(
	options *streams.ReadReq_Options, filter *streams.ReadReq_Options_FilterOptions,
) *streams.ReadReq_Options {
	options.FilterOption = &streams.ReadReq_Options_Filter{Filter: filter}
	return options
}

func subscribing(options *streams.ReadReq_Options) *streams.ReadReq_Options {
	options.CountOption = &streams.ReadReq_Options_Subscription{
		Subscription: &streams.ReadReq_Options_SubscriptionOptions{}}
	return options
}

func typePrefix(prefixes ...string) *streams.ReadReq_Options_FilterOptions {
	return &streams.ReadReq_Options_FilterOptions{
		Filter: &streams.ReadReq_Options_FilterOptions_EventType{
			EventType: &streams.ReadReq_Options_FilterOptions_Expression{Prefix: prefixes},
		},
		Window:                       &streams.ReadReq_Options_FilterOptions_Max{Max: 32},
		CheckpointIntervalMultiplier: 1,
	}
}

// The statuses and trailers are those of EventStoreDB's RpcExceptions.
func TestStatuses(t *testing.T) {
	socket := nodetest.Start(t)
	client := nodetest.Client(t, socket)
	appendTo(t, client, "ended", esdb.NoStream{}, events("a", "b")...)
	require.NoError(t, tombstone(t, client, "ended", esdb.Any{}))
	appendTo(t, client, "living", esdb.NoStream{}, events("a", "b", "c")...)
	w := dialWire(t, socket)

	typed := []string{"type", "t", "content-type", "application/json"}
	deletedTrailers := map[string]string{"exception": "stream-deleted", "stream-name": "ended"}
	wrongTrailers := map[string]string{
		"exception": "wrong-expected-version", "stream-name": "living", "expected-version": "1", "actual-version": "2",
	}
	required := map[string]string{
		"exception": "missing-required-metadata-property", "required-metadata-properties": "type,content-type",
	}
	appending := func(requests ...*streams.AppendReq) func(*testing.T) (metadata.MD, error) {
		return func(t *testing.T) (metadata.MD, error) {
			_, trailers, err := w.append(t, requests...)
			return trailers, err
		}
	}
	reading := func(options *streams.ReadReq_Options) func(*testing.T) (metadata.MD, error) {
		return func(t *testing.T) (metadata.MD, error) {
			_, trailers, err := w.read(t, options)
			return trailers, err
		}
	}
	deleting := func(options *streams.DeleteReq_Options) func(*testing.T) (metadata.MD, error) {
		return func(t *testing.T) (trailers metadata.MD, err error) {
			_, err = w.Delete(testContext(t), &streams.DeleteReq{Options: options}, grpc.Trailer(&trailers))
			return trailers, err
		}
	}
	tombstoning := func(options *streams.TombstoneReq_Options) func(*testing.T) (metadata.MD, error) {
		return func(t *testing.T) (trailers metadata.MD, err error) {
			_, err = w.Tombstone(testContext(t), &streams.TombstoneReq{Options: options}, grpc.Trailer(&trailers))
			return trailers, err
		}
	}
	cases := []struct {
		name     string
		call     func(*testing.T) (metadata.MD, error)
		code     codes.Code
		trailers map[string]string
	}{
		{"append to a tombstoned stream", appending(anyRevision("ended"), message(nil, typed...)), codes.FailedPrecondition,
			deletedTrailers},
		{"read of a tombstoned stream", reading(readStreamOptions("ended")), codes.FailedPrecondition, deletedTrailers},
		{"subscription to a tombstoned stream", reading(subscribing(readStreamOptions("ended"))), codes.FailedPrecondition,
			deletedTrailers},
		{"delete of a tombstoned stream", deleting(&streams.DeleteReq_Options{
			StreamIdentifier:       identifier("ended"),
			ExpectedStreamRevision: &streams.DeleteReq_Options_Any{Any: &shared.Empty{}},
		}), codes.FailedPrecondition, deletedTrailers},
		{"tombstone of a tombstoned stream", tombstoning(&streams.TombstoneReq_Options{
			StreamIdentifier:       identifier("ended"),
			ExpectedStreamRevision: &streams.TombstoneReq_Options_Any{Any: &shared.Empty{}},
		}), codes.FailedPrecondition, deletedTrailers},

		{"delete at another revision", deleting(&streams.DeleteReq_Options{
			StreamIdentifier:       identifier("living"),
			ExpectedStreamRevision: &streams.DeleteReq_Options_Revision{Revision: 1},
		}), codes.FailedPrecondition, wrongTrailers},
		{"tombstone at another revision", tombstoning(&streams.TombstoneReq_Options{
			StreamIdentifier:       identifier("living"),
			ExpectedStreamRevision: &streams.TombstoneReq_Options_Revision{Revision: 1},
		}), codes.FailedPrecondition, wrongTrailers},
		{"delete without an expected revision", deleting(&streams.DeleteReq_Options{StreamIdentifier: identifier("living")}),
			codes.InvalidArgument, nil},
		{"tombstone without an expected revision",
			tombstoning(&streams.TombstoneReq_Options{StreamIdentifier: identifier("living")}), codes.InvalidArgument, nil},

		{"append of too much", appending(anyRevision("big"), message(make([]byte, 600<<10), typed...),
			message(make([]byte, 600<<10), typed...)),
			codes.InvalidArgument, map[string]string{"exception": "maximum-append-size-exceeded",
				"maximum-append-size": "1048576"}},
		{"append without a type", appending(anyRevision("a"), message(nil, "content-type", "application/json")),
			codes.InvalidArgument, required},
		{"append without a content type", appending(anyRevision("a"), message(nil, "type", "t")), codes.InvalidArgument,
			required},
		{"append to $all", appending(anyRevision("$all"), message(nil, typed...)), codes.PermissionDenied,
			map[string]string{"exception": "access-denied"}},
		{"append of a link", appending(anyRevision("a"), message([]byte("0@living"), "type", "$>", "content-type",
			"application/json")), codes.Unimplemented, nil},
		{"append without options", appending(), codes.InvalidArgument, nil},
		{"append that begins with an event", appending(message(nil, typed...)), codes.InvalidArgument, nil},
		{"append with options twice", appending(anyRevision("a"), anyRevision("a")), codes.InvalidArgument, nil},
		{"append without a stream", appending(anyRevision("")), codes.InvalidArgument, nil},
		{"append without an expected revision", appending(&streams.AppendReq{Content: &streams.AppendReq_Options_{
			Options: &streams.AppendReq_Options{StreamIdentifier: identifier("a")},
		}}), codes.InvalidArgument, nil},
		{"append without an id", appending(anyRevision("a"), &streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{
			ProposedMessage: &streams.AppendReq_ProposedMessage{Metadata: map[string]string{"type": "t", "content-type": "x"}},
		}}), codes.InvalidArgument, nil},
		{"append with an invalid id",
			appending(anyRevision("a"), &streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{
				ProposedMessage: &streams.AppendReq_ProposedMessage{
					Id:       &shared.UUID{Value: &shared.UUID_String_{String_: "no id"}},
					Metadata: map[string]string{"type": "t", "content-type": "x"},
				},
			}}), codes.InvalidArgument, nil},

		{"append with the nil id",
			appending(anyRevision("a"), &streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{
				ProposedMessage: &streams.AppendReq_ProposedMessage{
					Id:       &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{}}},
					Metadata: map[string]string{"type": "t", "content-type": "x"},
				},
			}}), codes.InvalidArgument, nil},

		{"read of no events", reading(&streams.ReadReq_Options{
			StreamOption: readAllOptions().GetStreamOption(), CountOption: &streams.ReadReq_Options_Count{},
		}), codes.InvalidArgument, nil},
		{"read without a count", reading(&streams.ReadReq_Options{StreamOption: readAllOptions().GetStreamOption()}),
			codes.InvalidArgument, nil},
		{"read without options", reading(&streams.ReadReq_Options{}), codes.InvalidArgument, nil},
		{"read of a stream without a name", reading(readStreamOptions("")), codes.InvalidArgument, nil},
		{"filtered read of a stream", reading(filtered(readStreamOptions("living"), typePrefix("a"))), codes.InvalidArgument,
			nil},
		{"filter without an expression", reading(filtered(readAllOptions(), typePrefix())), codes.InvalidArgument, nil},
		{"filter without a kind", reading(filtered(readAllOptions(), &streams.ReadReq_Options_FilterOptions{})),
			codes.InvalidArgument, nil},
		{"subscription without a checkpoint interval",
			reading(subscribing(filtered(readAllOptions(), &streams.ReadReq_Options_FilterOptions{
				Filter: typePrefix("a").GetFilter(), Window: &streams.ReadReq_Options_FilterOptions_Max{Max: 32},
			}))), codes.InvalidArgument, nil},
		{"subscription backwards", reading(subscribing(&streams.ReadReq_Options{
			StreamOption: readAllOptions().GetStreamOption(), ReadDirection: streams.ReadReq_Options_Backwards,
		})), codes.InvalidArgument, nil},
		{"persistent subscription", func(t *testing.T) (metadata.MD, error) {
			_, err := persistent.NewPersistentSubscriptionsClient(w.connection).Create(testContext(t), &persistent.CreateReq{})
			return nil, err
		}, codes.Unimplemented, nil},
		{"gossip", func(t *testing.T) (metadata.MD, error) {
			_, err := gossip.NewGossipClient(w.connection).Read(testContext(t), &shared.Empty{})
			return nil, err
		}, codes.Unimplemented, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			trailers, err := c.call(t)
			require.Equal(t, c.code, status.Code(err), "%v", err)
			require.NotEmpty(t, status.Convert(err).Message())
			for name, want := range c.trailers {
				require.Equal(t, []string{want}, trailers.Get(name), name)
			}
			if c.trailers == nil {
				require.Empty(t, trailers.Get("exception"))
			}
		})
	}
	require.Len(t, readAll(t, client, esdb.ReadAllOptions{}, everything), 6, "a refused call writes nothing")
}

// A missing stream and a wrong expected version are responses, not errors.
func TestResponsesInPlaceOfErrors(t *testing.T) {
	socket := nodetest.Start(t)
	appendTo(t, nodetest.Client(t, socket), "living", esdb.NoStream{}, events("a", "b")...)
	w := dialWire(t, socket)

	responses, _, err := w.read(t, readStreamOptions("missing"))
	require.ErrorContains(t, err, "EOF")
	require.Len(t, responses, 1)
	require.Equal(t, "missing", string(responses[0].GetStreamNotFound().GetStreamIdentifier().GetStreamName()))

	request := anyRevision("living")
	request.GetOptions().ExpectedStreamRevision = &streams.AppendReq_Options_NoStream{NoStream: &shared.Empty{}}
	response, trailers, err := w.append(t, request, message(nil, "type", "t", "content-type", "x"))
	require.NoError(t, err)
	require.Empty(t, trailers.Get("exception"))
	require.Equal(t, uint64(1), response.GetWrongExpectedVersion().GetCurrentRevision())
	require.NotNil(t, response.GetWrongExpectedVersion().GetExpectedNoStream())
}

// Reads only send messages that do not make the official client exit its process: events, and messages about a missing
// stream or the state of a subscription. Each event has the fields that the client requires.
func TestReadsSendKnownMessagesOnly(t *testing.T) {
	socket := nodetest.Start(t)
	appendTo(t, nodetest.Client(t, socket), "living", esdb.NoStream{}, numbered(3)...)
	w := dialWire(t, socket)
	for _, options := range []*streams.ReadReq_Options{
		readStreamOptions("living"), readAllOptions(), filtered(readAllOptions(), typePrefix("event")),
	} {
		options.ResolveLinks = true
		responses, _, err := w.read(t, options)
		require.ErrorContains(t, err, "EOF")
		require.Len(t, responses, 3)
		for _, response := range responses {
			properties := response.GetEvent().GetEvent().GetMetadata()
			require.NotEmpty(t, properties["type"])
			require.NotEmpty(t, properties["content-type"])
			require.Regexp(t, `^\d{17}$`, properties["created"])
		}
	}
}

// Other clients request ids as text, in reads and subscriptions.
func TestReadsWithIDsAsText(t *testing.T) {
	socket := nodetest.Start(t)
	given := numbered(3)
	appendTo(t, nodetest.Client(t, socket), "living", esdb.NoStream{}, given...)
	w := dialWire(t, socket)
	asText := func(options *streams.ReadReq_Options) *streams.ReadReq_Options {
		options.UuidOption = &streams.ReadReq_Options_UUIDOption{Content: &streams.ReadReq_Options_UUIDOption_String_{
			String_: &shared.Empty{}}}
		return options
	}
	check := func(structured, text *streams.ReadResp, id string) {
		t.Helper()
		require.Equal(t, id, text.GetEvent().GetEvent().GetId().GetString_())
		text.GetEvent().GetEvent().Id = structured.GetEvent().GetEvent().GetId()
		require.True(t, proto.Equal(structured, text), "the rest is the same: %v", text)
	}
	for _, options := range []func() *streams.ReadReq_Options{
		readAllOptions, func() *streams.ReadReq_Options { return readStreamOptions("living") },
	} {
		structured, _, _ := w.read(t, options())
		responses, _, err := w.read(t, asText(options()))
		require.ErrorContains(t, err, "EOF")
		require.Len(t, responses, len(given))
		call, err := w.Read(testContext(t), &streams.ReadReq{Options: asText(subscribing(options()))})
		require.NoError(t, err)
		confirmation, err := call.Recv()
		require.NoError(t, err)
		require.NotNil(t, confirmation.GetConfirmation())
		for i, response := range responses {
			check(structured[i], response, given[i].EventID.String())
			live, err := call.Recv()
			require.NoError(t, err)
			check(structured[i], live, given[i].EventID.String())
		}
	}
}

// The official client reads $all without a filter; others may not.
func TestFilteredReadOfAll(t *testing.T) {
	socket := nodetest.Start(t)
	client := nodetest.Client(t, socket)
	for i := range 40 {
		appendTo(t, client, "living", esdb.Any{}, events("noise", "noise", []string{"a", "b"}[i%2])...)
	}
	w := dialWire(t, socket)
	for _, direction := range []streams.ReadReq_Options_ReadDirection{streams.ReadReq_Options_Forwards,
		streams.ReadReq_Options_Backwards} {
		options := filtered(readAllOptions(), typePrefix("b"))
		options.ReadDirection = direction
		options.GetAll().AllOption = &streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}}
		wantFirst := uint64(5)
		if direction == streams.ReadReq_Options_Backwards {
			options.GetAll().AllOption = &streams.ReadReq_Options_AllOptions_End{End: &shared.Empty{}}
			wantFirst = 119
		}
		responses, _, err := w.read(t, options)
		require.ErrorContains(t, err, "EOF")
		require.Len(t, responses, 10, "only events that pass are counted")
		require.Equal(t, wantFirst, responses[0].GetEvent().GetEvent().GetStreamRevision())
	}
}

func TestClosingNodeRefuses(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	w := dialWire(t, nodetest.Socket(dir))
	call, err := w.Read(context.Background(), &streams.ReadReq{Options: subscribing(readAllOptions())})
	require.NoError(t, err)
	_, err = call.Recv()
	require.NoError(t, err)

	closed := make(chan error, 1)
	go func() { closed <- node.Close() }()

	for err == nil {
		_, err = call.Recv()
	}
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.NoError(t, <-closed)
}
