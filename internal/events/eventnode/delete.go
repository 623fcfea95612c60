package eventnode

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
)

// Delete hides the events of a stream; the stream may be written again and then continues at its next revision.
func (s *streamsService) Delete(ctx context.Context, call *streams.DeleteReq) (*streams.DeleteResp, error) {
	options := call.GetOptions()
	if options.GetExpectedStreamRevision() == nil {
		return nil, errNoExpectation
	}
	position, err := s.node.delete(ctx, toDelete, options.GetStreamIdentifier(), options)
	if err != nil {
		return nil, s.node.finish(ctx, "delete", err)
	}
	at := &streams.DeleteResp_Position{CommitPosition: position, PreparePosition: position}
	return &streams.DeleteResp{PositionOption: &streams.DeleteResp_Position_{Position: at}}, nil
}

// Tombstone ends a stream permanently.
func (s *streamsService) Tombstone(ctx context.Context, call *streams.TombstoneReq) (*streams.TombstoneResp, error) {
	options := call.GetOptions()
	if options.GetExpectedStreamRevision() == nil {
		return nil, errNoExpectation
	}
	position, err := s.node.delete(ctx, toTombstone, options.GetStreamIdentifier(), options)
	if err != nil {
		return nil, s.node.finish(ctx, "tombstone", err)
	}
	at := &streams.TombstoneResp_Position{CommitPosition: position, PreparePosition: position}
	return &streams.TombstoneResp{PositionOption: &streams.TombstoneResp_Position_{Position: at}}, nil
}

func (n *Node) delete(
	ctx context.Context, purpose purpose, identifier *shared.StreamIdentifier, options expectedRevision,
) (uint64, error) {
	stream, err := writableStream(identifier)
	if err != nil {
		return 0, err
	}
	expected, err := parseExpectation(options)
	if err != nil {
		return 0, err
	}
	// An id of its own, as in EventStoreDB: a deletion is never a repeat.
	result, err := n.submit(&request{
		ctx: ctx, purpose: purpose, stream: stream, expected: expected,
		ids: []uuid.UUID{uuid.New()}, answer: make(chan outcome, 1),
	})
	if err != nil {
		return 0, err
	}
	switch result.verdict {
	case accepted:
		return result.position, nil
	case deleted:
		return 0, streamDeleted(stream)
	default:
		return 0, deleteConflict(stream, expected, result.current)
	}
}
