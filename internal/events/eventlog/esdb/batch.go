package esdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// batch sends all appends of a connection on one call of BatchAppend, which the library does not use. Its own way, a
// call for each append, takes three times the processor time.
type batch struct {
	conn *grpc.ClientConn
	call streams.Streams_BatchAppendClient

	sending sync.Mutex // a call has one sender at a time

	mu      sync.Mutex
	last    int64                                   // correlation id of the last append
	waiting map[int64]chan *streams.BatchAppendResp // by correlation id
	ended   error                                   // why the call has ended
}

// openBatch opens the call, which lasts until ctx ends.
func openBatch(ctx context.Context, address string) (*batch, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	call, err := streams.NewStreamsClient(conn).BatchAppend(ctx)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &batch{conn: conn, call: call, waiting: map[int64]chan *streams.BatchAppendResp{}}, nil
}

// receive passes responses to their appends until the call ends.
func (b *batch) receive() {
	for {
		response, err := b.call.Recv()
		if err != nil {
			b.end(err)
			return
		}
		id := response.GetCorrelationId().GetStructured().GetLeastSignificantBits()
		b.mu.Lock()
		answer := b.waiting[id]
		delete(b.waiting, id)
		b.mu.Unlock()
		if answer != nil {
			answer <- response
		}
	}
}

// end fails the waiting appends and all later ones. Their outcome is unknown.
func (b *batch) end(err error) {
	_ = b.conn.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = broken(err)
	for _, answer := range b.waiting {
		close(answer)
	}
	b.waiting = nil
}

// broken returns the error of a call that has ended.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return status.Error(codes.Unavailable, "the event store has ended the call")
	}
	return err
}

func (b *batch) append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	id, answer, err := b.begin()
	if err != nil {
		return eventlog.Appended{}, err
	}
	b.sending.Lock()
	err = b.call.Send(batched(id, stream, expected, events))
	b.sending.Unlock()
	if err != nil { // EOF means that the call has ended
		b.forget(id)
		return eventlog.Appended{}, fmt.Errorf("%w: %w", errUnsent, broken(err))
	}
	select {
	case response, ok := <-answer:
		if !ok {
			return eventlog.Appended{}, b.ended
		}
		return appended(stream, expected, response)
	case <-ctx.Done():
		b.forget(id)
		return eventlog.Appended{}, status.FromContextError(ctx.Err()).Err()
	}
}

func (b *batch) begin() (id int64, answer <-chan *streams.BatchAppendResp, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		return 0, nil, fmt.Errorf("%w: %w", errUnsent, b.ended)
	}
	b.last++
	c := make(chan *streams.BatchAppendResp, 1)
	b.waiting[b.last] = c
	return b.last, c, nil
}

func (b *batch) forget(id int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, id)
}

// batched returns the only message of an append.
func batched(id int64, stream string, expected eventlog.Revision, events []eventlog.Proposed) *streams.BatchAppendReq {
	options := &streams.BatchAppendReq_Options{
		StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte(stream)},
		ExpectedStreamPosition: &streams.BatchAppendReq_Options_StreamPosition{StreamPosition: uint64(expected)},
	}
	if expected == eventlog.NoStream {
		options.ExpectedStreamPosition = &streams.BatchAppendReq_Options_NoStream{NoStream: &emptypb.Empty{}}
	}
	messages := make([]*streams.BatchAppendReq_ProposedMessage, len(events))
	for i, event := range events {
		messages[i] = &streams.BatchAppendReq_ProposedMessage{
			Id:             structuredID(event.ID),
			Metadata:       map[string]string{"type": event.Type, "content-type": contentType(event)},
			CustomMetadata: event.Metadata,
			Data:           event.Data,
		}
	}
	return &streams.BatchAppendReq{
		CorrelationId: correlationID(id), Options: options, ProposedMessages: messages, IsFinal: true,
	}
}

func correlationID(id int64) *shared.UUID {
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{LeastSignificantBits: id}}}
}

func structuredID(id uuid.UUID) *shared.UUID {
	most, least := es.UUIDAsInt64(id)
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits: most, LeastSignificantBits: least,
	}}}
}

// appended returns the result of an append, or the event store's refusal.
func appended(
	stream string, expected eventlog.Revision, response *streams.BatchAppendResp,
) (eventlog.Appended, error) {
	if success := response.GetSuccess(); success != nil {
		position := success.GetPosition()
		return eventlog.Appended{
			Revision: eventlog.Revision(success.GetCurrentRevision()),
			Position: eventlog.Position{Commit: position.GetCommitPosition(), Prepare: position.GetPreparePosition()},
		}, nil
	}
	refusal := status.FromProto(response.GetError())
	for _, detail := range refusal.Details() {
		if wrong, is := detail.(*shared.WrongExpectedVersion); is {
			actual := eventlog.Revision(wrong.GetCurrentStreamRevision())
			if wrong.GetCurrentNoStream() != nil {
				actual = eventlog.NoStream
			}
			return eventlog.Appended{}, &eventlog.ConflictError{Stream: stream, Expected: expected, Actual: actual}
		}
	}
	return eventlog.Appended{}, refusal.Err()
}
