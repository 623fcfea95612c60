package esdb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/protocol"
)

// batch sends all appends of a connection on one call of BatchAppend. A call for each append takes three times the
// processor time.
type batch struct {
	call     streams.Streams_BatchAppendClient
	outgoing chan outgoing // to the call's one sender
	done     chan struct{} // closed when the call has ended

	mu      sync.Mutex
	last    int64                 // correlation id of the last append
	waiting map[int64]chan answer // by correlation id
	ended   error                 // why the call has ended
}

// outgoing is the only message of an append.
type outgoing struct {
	id      int64
	message encoded
}

// answer is the response to an append, or the reason why there is none.
type answer struct {
	response *streams.BatchAppendResp
	err      error
}

// openBatch opens the call, which lasts until ctx ends.
func openBatch(ctx context.Context, node *grpc.ClientConn) (*batch, error) {
	call, err := streams.NewStreamsClient(node).BatchAppend(ctx)
	if err != nil {
		return nil, err
	}
	return &batch{
		call: call, outgoing: make(chan outgoing), done: make(chan struct{}), waiting: map[int64]chan answer{},
	}, nil
}

// run passes appends to the call, and responses to their appends, until the call ends. Then waiting appends fail with
// an unknown outcome, and later ones as unsent.
func (b *batch) run() {
	var sending sync.WaitGroup
	sending.Go(b.send)
	err := b.receive()
	b.mu.Lock()
	b.ended = broken(err)
	b.mu.Unlock()
	close(b.done)
	sending.Wait() // an append that was not sent learns that from send
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, waiting := range b.waiting {
		waiting <- answer{err: b.ended}
	}
	b.waiting = nil
}

func (b *batch) send() {
	for {
		select {
		case o := <-b.outgoing:
			if err := b.call.SendMsg(o.message); err != nil { // EOF means that the call has ended
				b.settle(o.id, answer{err: fmt.Errorf("%w: %w", errUnsent, broken(err))})
				return
			}
		case <-b.done:
			return
		}
	}
}

func (b *batch) receive() error {
	for {
		response, err := b.call.Recv()
		if err != nil {
			return err
		}
		b.settle(response.GetCorrelationId().GetStructured().GetLeastSignificantBits(), answer{response: response})
	}
}

// settle answers an append, unless it has given up.
func (b *batch) settle(id int64, a answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if waiting := b.waiting[id]; waiting != nil {
		delete(b.waiting, id)
		waiting <- a
	}
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
	id, answered, err := b.begin()
	if err != nil {
		return eventlog.Appended{}, err
	}
	select {
	case b.outgoing <- outgoing{id, encodeAppend(id, stream, expected, events)}:
	case <-b.done:
		return eventlog.Appended{}, fmt.Errorf("%w: %w", errUnsent, b.ended)
	case <-ctx.Done():
		b.forget(id)
		return eventlog.Appended{}, fmt.Errorf("%w: %w", errUnsent, status.FromContextError(ctx.Err()).Err())
	}
	select {
	case a := <-answered:
		if a.err != nil {
			return eventlog.Appended{}, a.err
		}
		return appended(stream, expected, a.response)
	case <-ctx.Done():
		b.forget(id)
		return eventlog.Appended{}, status.FromContextError(ctx.Err()).Err()
	}
}

func (b *batch) begin() (id int64, answered <-chan answer, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		return 0, nil, fmt.Errorf("%w: %w", errUnsent, b.ended)
	}
	b.last++
	c := make(chan answer, 1)
	b.waiting[b.last] = c
	return b.last, c, nil
}

func (b *batch) forget(id int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, id)
}

// encodeAppend returns the only BatchAppendReq of an append.
func encodeAppend(id int64, stream string, expected eventlog.Revision, events []eventlog.Proposed) encoded {
	size := 2*appendOverhead + len(stream)
	for _, event := range events {
		size += appendOverhead + len(event.Type) + len(event.Metadata) + len(event.Data)
	}
	var correlation uuid.UUID
	binary.BigEndian.PutUint64(correlation[8:], uint64(id))
	m := protocol.AppendUUID(make([]byte, 0, size), protocol.FieldBatchCorrelation, correlation)

	options := protocol.AppendStream(make([]byte, 0, appendOverhead+len(stream)), protocol.FieldOptionsStream, stream)
	if expected == eventlog.NoStream {
		options = protowire.AppendTag(options, protocol.FieldOptionsNoStream, protowire.BytesType)
		options = protowire.AppendBytes(options, nil)
	} else {
		options = protowire.AppendTag(options, protocol.FieldOptionsRevision, protowire.VarintType)
		options = protowire.AppendVarint(options, uint64(expected))
	}
	m = protocol.AppendBytesField(m, protocol.FieldBatchOptions, options)

	var proposed []byte
	for _, event := range events {
		proposed = protocol.AppendUUID(proposed[:0], protocol.FieldProposedID, event.ID)
		proposed = protocol.AppendProperty(proposed, protocol.FieldProposedMetadata, protocol.MetadataType, event.Type)
		proposed = protocol.AppendProperty(proposed, protocol.FieldProposedMetadata, protocol.MetadataContentType,
			contentType(event))
		proposed = protocol.AppendBytesField(proposed, protocol.FieldProposedCustom, event.Metadata)
		proposed = protocol.AppendBytesField(proposed, protocol.FieldProposedData, event.Data)
		m = protocol.AppendBytesField(m, protocol.FieldBatchEvent, proposed)
	}
	m = protowire.AppendTag(m, protocol.FieldBatchFinal, protowire.VarintType)
	return protowire.AppendVarint(m, protowire.EncodeBool(true))
}

// appendOverhead is the maximum size of an event's or the options' fields without their values.
const appendOverhead = 128

func contentType(e eventlog.Proposed) string {
	if e.Binary {
		return protocol.ContentTypeBinary
	}
	return protocol.ContentTypeJSON
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
