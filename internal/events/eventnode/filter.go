package eventnode

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

// filter reports whether an event is sent to the reader; nil means all.
type filter func(record) bool

// defaultWindow is used if the client sets no search window (the page size of EventStoreDB).
const defaultWindow = 32

// parseFilter parses the $all filter of a request. Expressions are RE2, where EventStoreDB uses .NET ones.
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
	window := uint64(defaultWindow)
	if _, set := options.GetWindow().(*streams.ReadReq_Options_FilterOptions_Max); set {
		window = uint64(options.GetMax())
	}
	interval := window * uint64(options.GetCheckpointIntervalMultiplier())
	if interval == 0 {
		return 0, errors.New("the filter's window and checkpoint interval must be positive")
	}
	return int(min(interval, 1<<30)), nil
}
