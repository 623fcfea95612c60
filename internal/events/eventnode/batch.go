package eventnode

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/recital-tts/recital/internal/events/protocol"
)

// maxUnfinished is the maximum number of incomplete appends of a call. It limits memory.
const maxUnfinished = 64

// batchCall is a call of BatchAppend. It carries any number of concurrent appends, which are decided and answered
// independently of each other.
type batchCall struct {
	node       *Node
	call       streams.Streams_BatchAppendServer
	unfinished map[string]*request // by correlation id
	slots      chan struct{}       // one for each append that runs; while all are taken, nothing is received
	sending    sync.Mutex
}

// BatchAppend serves appends, each answered when it is on disk, until the client ends the call.
func (s *streamsService) BatchAppend(call streams.Streams_BatchAppendServer) error {
	b := &batchCall{
		node: s.node, call: call, unfinished: map[string]*request{}, slots: make(chan struct{}, maxCalls),
	}
	received := make(chan error, 1)
	s.node.running.Go(func() { received <- b.receive() })
	var err error
	select {
	case err = <-received:
	case <-s.node.closing:
		err = nodeClosing()
	case <-s.node.done:
		err = nodeFailed()
	}
	for range cap(b.slots) { // waits for those that run, and lets no other begin
		b.slots <- struct{}{}
	}
	return s.node.finish(call.Context(), "batch append", err)
}

func (b *batchCall) receive() error {
	for {
		var message received
		err := b.call.RecvMsg(&message)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		err = b.take(message.ReadOnlyData())
		message.Free()
		if err != nil {
			return err
		}
	}
}

// take adds the events of a message to its append, and starts the append with its last message.
func (b *batchCall) take(encoded []byte) error {
	m, err := decodeBatchAppend(encoded)
	if err != nil {
		return malformed(err)
	}
	key := string(m.correlation)
	r, begun := b.unfinished[key]
	switch {
	case !begun && m.options == nil:
		return nil // the append was refused before
	case !begun && len(b.unfinished) == maxUnfinished:
		return invalidArgument("the call has too many unfinished appends")
	case !begun:
		r, err = beginBatched(m.options)
	}
	for i := 0; err == nil && i < len(m.events); i++ {
		err = r.add(m.events[i])
	}
	if err == nil && !m.final {
		b.unfinished[key] = r
		return nil
	}
	delete(b.unfinished, key)
	select {
	case b.slots <- struct{}{}:
	case <-b.call.Context().Done():
		return b.call.Context().Err()
	}
	go b.run(key, r, err)
	return nil
}

func beginBatched(options *streams.BatchAppendReq_Options) (*request, error) {
	stream, err := writableStream(options.GetStreamIdentifier())
	if err != nil {
		return nil, err
	}
	r := &request{stream: stream, answer: make(chan outcome, 1)}
	switch position := options.GetExpectedStreamPosition().(type) {
	case *streams.BatchAppendReq_Options_StreamPosition:
		if position.StreamPosition >= math.MaxInt64 {
			return nil, invalidArgument("the expected revision is out of range")
		}
		r.expected = expectation(position.StreamPosition)
	case *streams.BatchAppendReq_Options_NoStream:
		r.expected = noStream
	case *streams.BatchAppendReq_Options_Any:
		r.expected = expectAny
	case *streams.BatchAppendReq_Options_StreamExists:
		r.expected = expectStreamExists
	default:
		return nil, invalidArgument("the expected revision is missing")
	}
	return r, nil
}

// run decides an append, unless it is refused already, and answers it.
func (b *batchCall) run(correlation string, r *request, refused error) {
	defer func() { <-b.slots }()
	response := &streams.BatchAppendResp{}
	if r != nil {
		response.StreamIdentifier = &shared.StreamIdentifier{StreamName: []byte(r.stream)}
	}
	success, err := b.append(r, refused)
	if err != nil {
		response.Result = &streams.BatchAppendResp_Error{Error: b.node.status("batch append", err).Proto()}
	} else {
		response.Result = &streams.BatchAppendResp_Success_{Success: success}
	}
	message := protowire.AppendTag(nil, protocol.FieldBatchCorrelation, protowire.BytesType)
	message = protowire.AppendString(message, correlation)
	message, err = proto.MarshalOptions{}.MarshalAppend(message, response)
	if err != nil {
		b.node.logger.Error("event node: an answer cannot be encoded", "error", err)
		return
	}
	b.sending.Lock()
	defer b.sending.Unlock()
	_ = b.call.SendMsg(frame(message)) // it fails only if the call has ended
}

func (b *batchCall) append(r *request, refused error) (*streams.BatchAppendResp_Success, error) {
	if refused != nil {
		return nil, refused
	}
	r.ctx = b.call.Context()
	result, err := b.node.submit(r)
	switch {
	case err != nil:
		return nil, err
	case result.verdict == deleted:
		return nil, detailed(codes.NotFound, "StreamDeleted", &shared.StreamDeleted{
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(r.stream)},
		})
	case result.verdict == wrongVersion:
		return nil, wrongVersionInBatch(r.expected, result.current)
	}
	success := &streams.BatchAppendResp_Success{
		CurrentRevisionOption: &streams.BatchAppendResp_Success_CurrentRevision{CurrentRevision: uint64(result.last)},
		PositionOption: &streams.BatchAppendResp_Success_Position{Position: &shared.AllStreamPosition{
			CommitPosition: result.position, PreparePosition: result.position,
		}},
	}
	if result.last == noStream {
		success.CurrentRevisionOption = &streams.BatchAppendResp_Success_NoStream{NoStream: &emptypb.Empty{}}
	}
	if result.position == 0 {
		success.PositionOption = &streams.BatchAppendResp_Success_NoPosition{NoPosition: &emptypb.Empty{}}
	}
	return success, nil
}

// detailed returns an error as EventStoreDB reports it in a response of BatchAppend (Status.cs).
func detailed(code codes.Code, message string, detail protoadapt.MessageV1) error {
	s, err := status.New(code, message).WithDetails(detail)
	if err != nil {
		return fmt.Errorf("adding the details of a refused append: %w", err)
	}
	return s.Err()
}

func wrongVersionInBatch(expected expectation, current int64) error {
	empty := &emptypb.Empty{}
	wrong := &shared.WrongExpectedVersion{
		CurrentStreamRevisionOption: &shared.WrongExpectedVersion_CurrentStreamRevision{
			CurrentStreamRevision: uint64(current)},
		ExpectedStreamPositionOption: &shared.WrongExpectedVersion_ExpectedStreamPosition{
			ExpectedStreamPosition: uint64(expected)},
	}
	switch expected {
	case expectAny:
		wrong.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedAny{ExpectedAny: empty}
	case expectStreamExists:
		wrong.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedStreamExists{
			ExpectedStreamExists: empty}
	case noStream:
		wrong.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedNoStream{ExpectedNoStream: empty}
	}
	if current == noStream {
		wrong.CurrentStreamRevisionOption = &shared.WrongExpectedVersion_CurrentNoStream{CurrentNoStream: empty}
	}
	return detailed(codes.AlreadyExists, "WrongExpectedVersion", wrong)
}
