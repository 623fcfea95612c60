package eventnode

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
)

// A subscription reads the store at its own pace, and sleeps when it has read everything. The committer only wakes it.
// A slow subscriber thus needs one page of memory, and does not delay others.

// subscribeAll sends the events after a position that pass the filter until the client ends the call. With a filter,
// checkpoints report the position that it has reached: one per interval of events, and one when it has caught up.
func (r *reader) subscribeAll(
	options *streams.ReadReq_Options_AllOptions, filter *streams.ReadReq_Options_FilterOptions,
) error {
	interval, err := checkpointInterval(filter)
	if err != nil {
		return invalidArgument(err.Error())
	}
	after := r.subscriptionStart(options)
	if err := r.sendConfirmation(); err != nil {
		return err
	}
	considered, checkpoint := 0, after
	sendCheckpoint := func() error {
		considered = 0
		if filter == nil || after <= checkpoint {
			return nil
		}
		checkpoint = after
		return r.sendCheckpoint(checkpoint)
	}
	return r.follow(func(head uint64, _ bool) (page, error) {
		p, err := r.store.allForwards(after, head, min(pageEvents, interval-considered), r.filter)
		if err != nil || p.considered == 0 {
			return p, err
		}
		after = p.last
		considered += p.considered
		if err := r.sendEvents(p.events); err != nil {
			return page{}, err
		}
		if considered >= interval {
			return p, sendCheckpoint()
		}
		return p, nil
	}, func() error {
		if err := sendCheckpoint(); err != nil {
			return err
		}
		return r.sendCaughtUp()
	})
}

// subscribeStream sends the events of a stream after a revision. The stream need not exist yet. As in EventStoreDB, it
// sends the visible part of the stream while catching up, and every event while live.
func (r *reader) subscribeStream(options *streams.ReadReq_Options_StreamOptions) error {
	stream := string(options.GetStreamIdentifier().GetStreamName())
	if stream == "" || len(stream) > maxStreamName {
		return invalidArgument("the stream's name is empty or too long")
	}
	head, _ := r.node.committer.head.get()
	last, err := r.store.lastRevision(stream, head)
	if err != nil {
		return err
	}
	if last == tombstoneRevision {
		return streamDeleted(stream)
	}
	next := int64(0)
	switch {
	case options.GetEnd() != nil:
		next = last + 1
	case options.GetStart() == nil:
		next = int64(min(options.GetRevision(), math.MaxInt64-1)) + 1
	}
	if err := r.sendConfirmation(); err != nil {
		return err
	}
	return r.follow(func(head uint64, live bool) (page, error) {
		part := streamPart{stream: stream, head: head}
		if !live {
			if part, err = r.store.visible(stream, head); err != nil {
				return page{}, err
			}
		}
		p, err := r.store.streamForwards(part, next, pageEvents)
		if err != nil {
			return page{}, err
		}
		if err := r.sendEvents(p.events); err != nil {
			return page{}, err
		}
		switch {
		case p.considered > 0 && int64(p.last) == tombstoneRevision:
			return page{}, streamDeleted(stream)
		case p.considered > 0:
			next = int64(p.last) + 1
		case p.done && !live:
			next = max(next, part.last+1) // events that are hidden now are not sent later
		}
		return p, nil
	}, r.sendCaughtUp)
}

func (r *reader) subscriptionStart(options *streams.ReadReq_Options_AllOptions) uint64 {
	head, _ := r.node.committer.head.get()
	switch {
	case options.GetEnd() != nil:
		return head
	case options.GetPosition() != nil:
		return options.GetPosition().GetCommitPosition()
	default:
		return 0
	}
}

// follow calls sendPage until the call ends, and caughtUp each time that all events have been sent. From then on, the
// subscription is live, until it falls behind by more than a page and has to catch up again.
func (r *reader) follow(sendPage func(head uint64, live bool) (page, error), caughtUp func() error) error {
	live, backlog := false, 0
	for {
		if err := r.alive(); err != nil {
			return err
		}
		head, moved := r.node.committer.head.get()
		p, err := sendPage(head, live)
		if err != nil {
			return err
		}
		if !p.done {
			backlog += p.considered
			live = live && backlog < pageEvents
			continue
		}
		backlog = 0
		if !live {
			if err := caughtUp(); err != nil {
				return err
			}
			live = true
		}
		select {
		case <-moved:
		case <-r.ctx.Done():
		case <-r.node.closing:
		case <-r.node.done:
		}
	}
}

func (r *reader) sendConfirmation() error {
	return r.call.Send(&streams.ReadResp{Content: &streams.ReadResp_Confirmation{
		Confirmation: &streams.ReadResp_SubscriptionConfirmation{SubscriptionId: uuid.NewString()},
	}})
}

func (r *reader) sendCheckpoint(position uint64) error {
	return r.call.Send(&streams.ReadResp{Content: &streams.ReadResp_Checkpoint_{
		Checkpoint: &streams.ReadResp_Checkpoint{CommitPosition: position, PreparePosition: position},
	}})
}

func (r *reader) sendCaughtUp() error {
	return r.call.Send(&streams.ReadResp{Content: &streams.ReadResp_CaughtUp_{CaughtUp: &streams.ReadResp_CaughtUp{}}})
}

// filter reports whether an event is sent to the reader. nil passes all events.
type filter func(record) bool

// defaultWindow is the search window if the client sets none. It is the page size of EventStoreDB.
const defaultWindow = 32

// maxInterval is the longest interval of events between two checkpoints.
const maxInterval = 1 << 30

// parseFilter parses the filter of a read of $all. Regular expressions have the syntax of RE2, while EventStoreDB's
// have the syntax of .NET.
func parseFilter(options *streams.ReadReq_Options_FilterOptions) (filter, error) {
	if options == nil {
		return nil, nil
	}
	switch by := options.GetFilter().(type) {
	case *streams.ReadReq_Options_FilterOptions_EventType:
		return parseExpression(by.EventType, record.kind)
	case *streams.ReadReq_Options_FilterOptions_StreamIdentifier:
		return parseExpression(by.StreamIdentifier, record.stream)
	default:
		return nil, errors.New("the filter is neither by event type nor by stream")
	}
}

func parseExpression(
	expression *streams.ReadReq_Options_FilterOptions_Expression, field func(record) []byte,
) (filter, error) {
	if expression.GetRegex() != "" {
		pattern, err := regexp.Compile(expression.GetRegex())
		if err != nil {
			return nil, fmt.Errorf("the filter's regular expression: %w", err)
		}
		return func(r record) bool { return pattern.Match(field(r)) }, nil
	}
	if len(expression.GetPrefix()) == 0 {
		return nil, errors.New("the filter has neither a regular expression nor prefixes")
	}
	prefixes := make([][]byte, 0, len(expression.GetPrefix()))
	for _, prefix := range expression.GetPrefix() {
		prefixes = append(prefixes, []byte(prefix))
	}
	return func(r record) bool {
		value := field(r)
		for _, prefix := range prefixes {
			if bytes.HasPrefix(value, prefix) {
				return true
			}
		}
		return false
	}, nil
}

// checkpointInterval returns the number of events that a filtered subscription examines between two checkpoints.
func checkpointInterval(options *streams.ReadReq_Options_FilterOptions) (int, error) {
	if options == nil {
		return maxInterval, nil
	}
	window := uint64(defaultWindow)
	if _, set := options.GetWindow().(*streams.ReadReq_Options_FilterOptions_Max); set {
		window = uint64(options.GetMax())
	}
	interval := window * uint64(options.GetCheckpointIntervalMultiplier())
	if interval == 0 {
		return 0, errors.New("the filter's window and checkpoint interval must be positive")
	}
	return int(min(interval, maxInterval)), nil
}
