package eventnode

import (
	"errors"
	"io"
	"math"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recital-tts/recital/internal/events/protocol"
)

const (
	// maxAppendBytes is the documented default limit of EventStoreDB up to 25.0 for an append: the sum of its data,
	// metadata and types (with two bytes per character). EventStoreDB's servers mistakenly do not count the metadata of
	// events with data. The node counts it, so that every version accepts what the node accepts.
	maxAppendBytes = 1 << 20
	// maxAppendEvents limits the memory of an append of very small events. EventStoreDB has no such limit.
	maxAppendEvents = 1 << 16
)

// allStream is the name of the whole log.
const allStream = "$all"

// kindLink is the type of events that link to other events.
const kindLink = "$>"

var errLinks = status.Error(codes.Unimplemented, "the event node does not support links")

// Append appends events to a stream.
func (s *streamsService) Append(call streams.Streams_AppendServer) error {
	response, err := s.append(call)
	if err != nil {
		return s.node.finish(call.Context(), "append", err)
	}
	return call.SendAndClose(response)
}

func (s *streamsService) append(call streams.Streams_AppendServer) (*streams.AppendResp, error) {
	request, refused := receiveAppend(call)
	if refused != nil {
		return nil, refused
	}
	result, err := s.node.submit(request)
	if err != nil {
		return nil, err
	}
	switch result.verdict {
	case accepted, repeated:
		return appendSuccess(result.decision), nil
	case deleted:
		return nil, streamDeleted(request.stream)
	default:
		return wrongExpectedVersion(request.expected, result.current), nil
	}
}

// submit passes an append to the committer and waits for the outcome.
func (n *Node) submit(request *request) (outcome, error) {
	stalled := n.store.disk.stalled()
	select {
	case <-stalled:
		return outcome{}, diskFull()
	default:
	}
	select {
	case n.committer.queue <- request:
	case <-stalled:
		return outcome{}, diskFull()
	case <-request.ctx.Done():
		return outcome{}, request.ctx.Err()
	case <-n.closing:
		return outcome{}, nodeClosing()
	case <-n.done:
		return outcome{}, nodeFailed()
	}
	select {
	case result := <-request.answer:
		return result, result.err
	case <-stalled:
		return outcome{}, notConfirmed()
	case <-request.ctx.Done():
		return outcome{}, request.ctx.Err()
	case <-n.done:
		return outcome{}, nodeFailed()
	}
}

// receiveAppend reads the whole request, even if it is refused. If a stream ends before the official client has sent
// everything, the client reports an end of file instead of the refusal.
func receiveAppend(call streams.Streams_AppendServer) (*request, error) {
	var request *request
	refused := invalidArgument("the append has no options")
	for first := true; ; first = false {
		var message received
		err := call.RecvMsg(&message)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch {
		case first:
			request, refused = beginAppend(message.ReadOnlyData())
		case refused == nil:
			refused = request.addMessage(message.ReadOnlyData())
		}
		message.Free()
	}
	if refused != nil {
		return nil, refused
	}
	request.ctx = call.Context()
	return request, nil
}

// beginAppend creates a request from the first message of an append.
func beginAppend(message []byte) (*request, error) {
	m, err := decodeAppend(message)
	if err != nil {
		return nil, malformed(err)
	}
	options := m.options
	if options == nil {
		return nil, invalidArgument("the append does not start with its options")
	}
	stream, err := writableStream(options.GetStreamIdentifier())
	if err != nil {
		return nil, err
	}
	expected, err := parseExpectation(options, options.GetExpectedStreamRevision() != nil)
	if err != nil {
		return nil, err
	}
	return &request{stream: stream, expected: expected, answer: make(chan outcome, 1)}, nil
}

func writableStream(identifier *shared.StreamIdentifier) (string, error) {
	name := identifier.GetStreamName()
	switch {
	case len(name) == 0:
		return "", invalidArgument("the stream has no name")
	case len(name) > maxStreamName:
		return "", invalidArgument("the stream's name is too long")
	case string(name) == allStream:
		return "", accessDenied()
	}
	return string(name), nil
}

// expectedRevision is implemented by the options of appends, deletes and tombstones.
type expectedRevision interface {
	GetStreamIdentifier() *shared.StreamIdentifier
	GetRevision() uint64
	GetNoStream() *shared.Empty
	GetAny() *shared.Empty
	GetStreamExists() *shared.Empty
}

// parseExpectation parses the expected revision, if one is given.
func parseExpectation(options expectedRevision, given bool) (expectation, error) {
	switch {
	case !given:
		return 0, invalidArgument("the expected revision is missing")
	case options.GetAny() != nil:
		return expectAny, nil
	case options.GetNoStream() != nil:
		return noStream, nil
	case options.GetStreamExists() != nil:
		return expectStreamExists, nil
	case options.GetRevision() >= math.MaxInt64:
		return 0, invalidArgument("the expected revision is out of range")
	default:
		return expectation(options.GetRevision()), nil
	}
}

// addMessage adds the event of a further message of an append.
func (r *request) addMessage(message []byte) error {
	m, err := decodeAppend(message)
	switch {
	case err != nil:
		return malformed(err)
	case m.event == nil:
		return invalidArgument("a message of the append is not an event")
	default:
		return r.add(m.event)
	}
}

func (r *request) add(event *proposedMessage) error {
	switch {
	case event.kind == nil:
		return missingMetadata(protocol.MetadataType)
	case event.contentType == nil:
		return missingMetadata(protocol.MetadataContentType)
	case len(event.kind) == 0:
		return invalidArgument("the event has no type")
	case string(event.kind) == kindLink:
		return errLinks
	case len(r.events) == maxAppendEvents:
		return invalidArgument("the append has too many events")
	}
	id, err := event.id.UUID()
	switch {
	case err != nil:
		return invalidArgument(err.Error())
	case id == uuid.Nil:
		return invalidArgument("the event's id is the nil UUID")
	}
	r.bytes += len(event.data) + len(event.custom) + 2*len(event.kind)
	if r.bytes > maxAppendBytes {
		return appendTooLarge()
	}
	contentType := protocol.ContentTypeBinary
	if string(event.contentType) == protocol.ContentTypeJSON {
		contentType = protocol.ContentTypeJSON
	}
	r.ids = append(r.ids, id)
	r.events = append(r.events, propose(r.stream, id, string(event.kind), contentType, event.custom, event.data))
	return nil
}

func appendSuccess(d decision) *streams.AppendResp {
	success := &streams.AppendResp_Success{
		CurrentRevisionOption: &streams.AppendResp_Success_CurrentRevision{CurrentRevision: uint64(d.last)},
		PositionOption: &streams.AppendResp_Success_Position{Position: &streams.AppendResp_Position{
			CommitPosition: d.position, PreparePosition: d.position,
		}},
	}
	if d.last == noStream {
		success.CurrentRevisionOption = &streams.AppendResp_Success_NoStream{NoStream: &shared.Empty{}}
	}
	if d.position == 0 {
		success.PositionOption = &streams.AppendResp_Success_NoPosition{NoPosition: &shared.Empty{}}
	}
	return &streams.AppendResp{Result: &streams.AppendResp_Success_{Success: success}}
}

func wrongExpectedVersion(expected expectation, current int64) *streams.AppendResp {
	empty := &shared.Empty{}
	wrong := &streams.AppendResp_WrongExpectedVersion{
		ExpectedRevisionOption: &streams.AppendResp_WrongExpectedVersion_ExpectedRevision{ExpectedRevision: uint64(expected)},
		CurrentRevisionOption:  &streams.AppendResp_WrongExpectedVersion_CurrentRevision{CurrentRevision: uint64(current)},
	}
	switch expected {
	case expectAny:
		wrong.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedAny{ExpectedAny: empty}
	case expectStreamExists:
		wrong.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedStreamExists{
			ExpectedStreamExists: empty}
	case noStream:
		wrong.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedNoStream{ExpectedNoStream: empty}
	}
	if current == noStream {
		wrong.CurrentRevisionOption = &streams.AppendResp_WrongExpectedVersion_CurrentNoStream{CurrentNoStream: empty}
	}
	return &streams.AppendResp{Result: &streams.AppendResp_WrongExpectedVersion_{WrongExpectedVersion: wrong}}
}

// expectation is a revision that an append expects: a stream's last revision, noStream, or one of the constants below.
type expectation = int64

const (
	expectAny          expectation = -2
	expectStreamExists expectation = -4
)

// verdict is the result of the checks of an append.
type verdict int

const (
	accepted     verdict = iota // to be written
	repeated                    // written before: repeat the response
	wrongVersion                // the stream is at another revision
	deleted                     // the stream is deleted, so the append is impossible
)

// decision is a verdict with the values for the response.
type decision struct {
	verdict  verdict
	current  int64  // revision of the stream's last event
	last     int64  // if repeated: revision of the append's last event
	position uint64 // if repeated: its position, or 0 if it is no longer visible
	recreate bool   // if accepted: the stream is soft-deleted and will be recreated
}

// decide applies the rules of EventStoreDB 24.6 (IndexWriter.CheckCommit).
func decide(view *view, stream string, expected expectation, ids []uuid.UUID) (decision, error) {
	current, err := view.lastRevision(stream)
	if err != nil {
		return decision{}, err
	}
	if current == tombstoneRevision {
		return decision{verdict: deleted, current: current}, nil
	}
	visible, err := view.retention(stream)
	if err != nil {
		return decision{}, err
	}
	d := decision{verdict: accepted, current: current, recreate: visible.softDeleted()}
	switch expected {
	case expectStreamExists:
		return decideExists(view, stream, d, visible, ids)
	case expectAny:
		return decideByRecent(view, stream, d, visible, ids), nil
	case current:
		return d, nil
	default:
		return decideRepeat(view, stream, expected, d, visible, ids)
	}
}

// repeat returns the decision for a repeated append that ended with the event last.
func (d decision) repeat(last knownEvent, visible retention) decision {
	d.verdict, d.last = repeated, last.revision
	if visible.shows(last, d.current, time.Now()) {
		d.position = last.position
	}
	return d
}

// decideExists decides an append that expects the stream to exist. A soft-deleted stream does not exist. A stream
// without events exists if it has metadata.
func decideExists(view *view, stream string, d decision, visible retention, ids []uuid.UUID) (decision, error) {
	if d.recreate {
		return decision{verdict: deleted, current: d.current}, nil
	}
	if d.current == noStream {
		last, err := view.lastRevision(metadataStream(stream))
		if err != nil {
			return decision{}, err
		}
		if last == noStream {
			return decision{verdict: wrongVersion, current: noStream}, nil
		}
	}
	return decideByRecent(view, stream, d, visible, ids), nil
}

// decideByRecent decides an append without an exact revision. A repeat is recognised only by recent ids, and only where
// an id occurs first. If the first id is not known, the append is new. If a later id is not known, two appends share
// events.
func decideByRecent(view *view, stream string, d decision, visible retention, ids []uuid.UUID) decision {
	if len(ids) == 0 {
		return d
	}
	var last knownEvent
	for i, id := range ids {
		known, found := view.recent(id)
		if !found || known.stream != stream {
			if i > 0 {
				return decision{verdict: wrongVersion, current: d.current}
			}
			return d
		}
		last = known
	}
	return d.repeat(last, visible)
}

// decideRepeat decides an append at an earlier revision. It is a repeat if exactly its events follow that revision. A
// soft-deleted stream also counts as nonexistent.
func decideRepeat(
	view *view, stream string, expected expectation, d decision, visible retention, ids []uuid.UUID,
) (decision, error) {
	wrong := decision{verdict: wrongVersion, current: d.current}
	if expected > d.current || len(ids) == 0 {
		return wrong, nil
	}
	var last knownEvent
	for i, want := range ids {
		event, found, err := view.eventAt(stream, expected+1+int64(i))
		switch {
		case err != nil:
			return decision{}, err
		case found && event.id == want:
			last = event
		case i == 0 && expected == noStream && d.recreate:
			return d, nil
		default:
			return wrong, nil
		}
	}
	return d.repeat(last, visible), nil
}
