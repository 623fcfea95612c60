package eventnode

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
)

// The metadata of a stream s is the data of the last event of the stream $$s, if it is flagged as JSON. It determines
// which events are visible to readers. Events are never removed from the log.
const (
	metadataPrefix  = "$$"
	kindMetadata    = "$metadata"
	kindTombstone   = "$streamDeleted"
	keyTruncate     = "$tb"
	metadataHistory = 1 // number of visible events of a metadata stream
	// maxTimeSpan is the longest duration in seconds that EventStoreDB can represent (TimeSpan.MaxValue of .NET).
	maxTimeSpan = 922_337_203_685
)

// retention determines which events of a stream are visible. The zero value hides no events.
type retention struct {
	truncateBefore int64 // revision of the first visible event
	maxCount       int64 // maximum number of visible events, if positive
	maxAge         time.Duration
}

// softDeleted reports whether the stream is soft-deleted: readers see no events, and the next write continues at the
// next revision.
func (r retention) softDeleted() bool { return r.truncateBefore == tombstoneRevision }

// first returns the first revision that may be visible, given the last one.
func (r retention) first(last int64) int64 {
	if r.maxCount > 0 {
		return max(r.truncateBefore, last-r.maxCount+1)
	}
	return r.truncateBefore
}

// keep returns a filter that omits events that are too old, or nil if no event can be.
func (r retention) keep(now time.Time) filter {
	if r.maxAge <= 0 {
		return nil
	}
	return func(event record) bool { return !r.tooOld(event.created(), now) }
}

func (r retention) tooOld(created, now time.Time) bool {
	return r.maxAge > 0 && created.Before(now.Add(-r.maxAge))
}

// shows reports whether an event of a stream is visible, given the stream's last revision.
func (r retention) shows(event knownEvent, last int64, now time.Time) bool {
	return event.revision >= r.first(last) && !r.tooOld(event.created, now)
}

// parseRetention parses stream metadata as EventStoreDB does. Names are case-sensitive. A value below 1 is not a limit.
// If any value is invalid, the whole metadata is ignored.
func parseRetention(data []byte) retention {
	var metadata map[string]json.RawMessage
	if json.Unmarshal(data, &metadata) != nil {
		return retention{}
	}
	truncateBefore, maxCount, maxAge := int64(0), int64(0), int64(0)
	for name, value := range map[string]*int64{keyTruncate: &truncateBefore, "$maxCount": &maxCount, "$maxAge": &maxAge} {
		raw, given := metadata[name]
		if !given {
			continue
		}
		number, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return retention{}
		}
		*value = max(0, number)
	}
	if maxAge > maxTimeSpan {
		return retention{}
	}
	r := retention{truncateBefore: truncateBefore, maxCount: maxCount}
	if maxAge <= math.MaxInt64/int64(time.Second) { // a longer age limits nothing
		r.maxAge = time.Duration(maxAge) * time.Second
	}
	return r
}

// softDeletion returns the metadata of a soft-deleted stream.
func softDeletion() []byte { return []byte(`{"$tb":9223372036854775807}`) }

// withTruncateBefore returns the metadata with a new $tb. ok is false if the metadata is not a JSON object.
func withTruncateBefore(data []byte, revision int64) (changed []byte, ok bool) {
	var metadata map[string]json.RawMessage
	if json.Unmarshal(data, &metadata) != nil || metadata == nil {
		return nil, false
	}
	number, err := json.Marshal(revision)
	if err != nil {
		return nil, false
	}
	metadata[keyTruncate] = number
	changed, err = json.Marshal(metadata)
	return changed, err == nil
}

// metadataStream returns the name of the stream with a stream's metadata.
func metadataStream(stream string) string { return metadataPrefix + stream }

// describedStream returns the name of the stream that a metadata stream describes.
func describedStream(stream string) (string, bool) {
	described, found := strings.CutPrefix(stream, metadataPrefix)
	return described, found && described != ""
}

// retention returns the retention of the stream at the position head.
func (s *store) retention(stream string, head uint64) (retention, error) {
	if _, describes := describedStream(stream); describes {
		return retention{maxCount: metadataHistory}, nil
	}
	data, err := s.metadata(stream, head)
	if err != nil || data == nil {
		return retention{}, err
	}
	return parseRetention(data), nil
}

// metadata returns a stream's metadata at the position head, or nil.
func (s *store) metadata(stream string, head uint64) ([]byte, error) {
	name := metadataStream(stream)
	last, err := s.lastWritten(name, head)
	if err != nil || last == noStream {
		return nil, err
	}
	event, _, found, err := s.event(name, last)
	if err != nil || !found {
		return nil, err
	}
	return event.metadata(), nil
}

// Delete soft-deletes a stream.
func (s *streamsService) Delete(ctx context.Context, call *streams.DeleteReq) (*streams.DeleteResp, error) {
	options := call.GetOptions()
	position, err := s.node.delete(ctx, toDelete, options, options.GetExpectedStreamRevision() != nil)
	if err != nil {
		return nil, s.node.finish(ctx, "delete", err)
	}
	at := &streams.DeleteResp_Position{CommitPosition: position, PreparePosition: position}
	return &streams.DeleteResp{PositionOption: &streams.DeleteResp_Position_{Position: at}}, nil
}

// Tombstone ends a stream permanently.
func (s *streamsService) Tombstone(ctx context.Context, call *streams.TombstoneReq) (*streams.TombstoneResp, error) {
	options := call.GetOptions()
	position, err := s.node.delete(ctx, toTombstone, options, options.GetExpectedStreamRevision() != nil)
	if err != nil {
		return nil, s.node.finish(ctx, "tombstone", err)
	}
	at := &streams.TombstoneResp_Position{CommitPosition: position, PreparePosition: position}
	return &streams.TombstoneResp{PositionOption: &streams.TombstoneResp_Position_{Position: at}}, nil
}

func (n *Node) delete(ctx context.Context, purpose purpose, options expectedRevision, given bool) (uint64, error) {
	stream, err := writableStream(options.GetStreamIdentifier())
	if err != nil {
		return 0, err
	}
	expected, err := parseExpectation(options, given)
	if err != nil {
		return 0, err
	}
	// A new id, as in EventStoreDB: a deletion is never a repeat.
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
