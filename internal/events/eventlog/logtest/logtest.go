// Package logtest has the contract suite that every eventlog.Log has to pass.
package logtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// patience limits each test, even on a busy machine. It is not a measurement.
const patience = time.Minute

// Run runs the suite. open returns a log, which may contain other events and have other writers: the suite only uses
// streams of its own, and makes no assertions about others. In a cluster, the log must read its own writes.
func Run(t *testing.T, open func(t *testing.T) eventlog.Log) {
	tests := []struct {
		name string
		test func(*testing.T, *bench)
	}{
		{"append/gives back what was appended", appendThenRead},
		{"append/keeps every byte", appendKeepsBytes},
		{"append/refuses another revision", appendConflicts},
		{"append/repeated writes nothing", appendRepeated},
		{"append/of events of another stream is new", appendKnownElsewhere},
		{"append/repeated at once is written once", appendRepeatedAtOnce},
		{"append/of unknown outcome is settled by repeating it", appendSettled},
		{"append/refuses what is no revision", appendNoRevision},
		{"append/of nothing does nothing", appendNothing},
		{"append/refuses what is too large", appendTooLarge},
		{"append/at one revision has one winner", appendOneWinner},
		{"append/with an ended context writes nothing", appendEndedContext},
		{"read/unknown stream", readUnknownStream},
		{"read/from a revision", readFrom},
		{"read/long streams", readLong},
		{"read/large events", readLarge},
		{"read/stops early", readStopsEarly},
		{"read/ends with its context", readEndedContext},
		{"read/with an ended context yields its error", readAfterEnd},
		{"head/is the last event", headIsLast},
		{"position/orders appends to all streams", positionsGrow},
		{"subscribe/from the start and on", subscribeFromStart},
		{"subscribe/after a position", subscribeAfter},
		{"subscribe/after a position within an append", subscribeWithinAppend},
		{"subscribe/more than once", subscribeTwice},
		{"subscribe/to a slow reader", subscribeSlowReader},
		{"subscribe/with concurrent writers", subscribeConcurrentWriters},
		{"subscribe/ends with its context", subscribeEnds},
		{"subscribe/ends without a gap", subscribeEndsWithoutGap},
		{"subscribe/with an ended context delivers nothing", subscribeAfterEnd},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			t.Cleanup(cancel)
			test.test(t, &bench{Log: open(t), ctx: ctx})
		})
	}
}

// bench is a log under test.
type bench struct {
	eventlog.Log
	ctx context.Context
}

func newStream() string { return "logtest-" + uuid.NewString() }

// events returns events with distinct data.
func events(names ...string) []eventlog.Proposed {
	made := make([]eventlog.Proposed, len(names))
	for i, name := range names {
		made[i] = eventlog.Proposed{
			ID:       uuid.New(),
			Type:     "log-tested",
			Data:     fmt.Appendf(nil, `{"name":%q}`, name),
			Metadata: fmt.Appendf(nil, `{"v":1,"about":%q}`, name),
		}
	}
	return made
}

func numbered(n int) []eventlog.Proposed {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	return events(names...)
}

func (b *bench) appended(
	t *testing.T, stream string, expected eventlog.Revision, events ...eventlog.Proposed,
) eventlog.Appended {
	t.Helper()
	result, err := b.Append(b.ctx, stream, expected, events)
	require.NoError(t, err)
	require.Equal(t, expected+eventlog.Revision(len(events)), result.Revision)
	return result
}

// fill appends n events in steps and returns them in order.
func (b *bench) fill(t *testing.T, stream string, n int) []eventlog.Proposed {
	t.Helper()
	all := numbered(n)
	for from := 0; from < n; from += 250 {
		b.appended(t, stream, eventlog.Revision(from-1), all[from:min(from+250, n)]...)
	}
	return all
}

func (b *bench) forwards(t *testing.T, stream string, from uint64) []eventlog.Recorded {
	t.Helper()
	var read []eventlog.Recorded
	for event, err := range b.ReadStream(b.ctx, stream, from) {
		require.NoError(t, err)
		read = append(read, event)
	}
	return read
}

func (b *bench) backwards(t *testing.T, stream string) []eventlog.Recorded {
	t.Helper()
	var read []eventlog.Recorded
	for event, err := range b.ReadStreamBackwards(b.ctx, stream) {
		require.NoError(t, err)
		read = append(read, event)
	}
	return read
}

func proposedIDs(events []eventlog.Proposed) []uuid.UUID {
	ids := make([]uuid.UUID, len(events))
	for i, event := range events {
		ids[i] = event.ID
	}
	return ids
}

func recordedIDs(events []eventlog.Recorded) []uuid.UUID {
	ids := make([]uuid.UUID, len(events))
	for i, event := range events {
		ids[i] = event.ID
	}
	return ids
}
