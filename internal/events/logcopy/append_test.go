package logcopy_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb/esdbtest"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/events/logcopy"
)

func proposed(n int) []eventlog.Proposed {
	events := make([]eventlog.Proposed, n)
	for i := range events {
		events[i] = eventlog.Proposed{
			ID: uuid.New(), Type: fmt.Sprintf("kind-%d", i%3), Data: fmt.Appendf(nil, `{ "i" :%d}`, i),
			Metadata: []byte(`{"v":1,  "time":"2026-01-02T03:04:05Z"}`),
		}
	}
	return events
}

func appended(t *testing.T, log eventlog.Log, stream string, expected eventlog.Revision, events ...eventlog.Proposed) {
	t.Helper()
	_, err := log.Append(t.Context(), stream, expected, events)
	require.NoError(t, err)
}

// filled returns a log with runs, alternating streams, a foreign event that is not JSON, and events of the maximum
// size.
func filled(t *testing.T) eventlog.Log {
	t.Helper()
	log := esdbtest.Open(t, nodetest.Start(t))
	appended(t, log, "run-1", eventlog.NoStream, proposed(700)...)
	for turn := range 20 {
		for stream := range 3 {
			appended(t, log, fmt.Sprint("turn-", stream), eventlog.Revision(turn-1), proposed(1)...)
		}
	}
	binary := eventlog.Proposed{ID: uuid.New(), Type: "image", Data: []byte{0, 255, '\n'}, Binary: true}
	large := eventlog.Proposed{ID: uuid.New(), Type: "large", Data: []byte(`"` + strings.Repeat("x", 1<<20-100) + `"`)}
	appended(t, log, "foreign", eventlog.NoStream, binary, proposed(1)[0])
	appended(t, log, "foreign", 1, large)
	appended(t, log, "run-1", 699, proposed(5)...)
	return log
}

func all(t *testing.T, log eventlog.Log) []eventlog.Recorded {
	t.Helper()
	var events []eventlog.Recorded
	for event, err := range logcopy.Read(t.Context(), log, eventlog.Start(), eventlog.Start()) {
		require.NoError(t, err)
		events = append(events, event)
	}
	return events
}

// contents returns the events without fields that a copy does not keep.
func contents(events []eventlog.Recorded) []string {
	lines := make([]string, len(events))
	for i, e := range events {
		lines[i] = fmt.Sprintf("%s %s %d %s %t %q %q", e.ID, e.Stream, e.Revision, e.Type, e.Binary, e.Data, e.Metadata)
	}
	return lines
}

func source(log eventlog.Log) iter.Seq2[eventlog.Recorded, error] {
	return logcopy.Read(context.Background(), log, eventlog.Start(), eventlog.Start())
}

func TestReadingALogFromAndTo(t *testing.T) {
	log := filled(t)
	events := all(t, log)
	require.Len(t, events, 768)
	between := func(after, until eventlog.Position) []string {
		var got []eventlog.Recorded
		for event, err := range logcopy.Read(t.Context(), log, after, until) {
			require.NoError(t, err)
			got = append(got, event)
		}
		return contents(got)
	}
	require.Equal(t, contents(events[300:]), between(events[299].Position, eventlog.Start()))
	require.Equal(t, contents(events[300:400]), between(events[299].Position, events[399].Position))
	require.Empty(t, between(events[767].Position, eventlog.Start()))
	require.Empty(t, between(events[5].Position, events[5].Position))
	// a position past the head means the head; a position may be between two events
	require.Equal(t, contents(events[767:]),
		between(events[766].Position, eventlog.Position{Commit: 1 << 50, Prepare: 1 << 50}))
	between1 := eventlog.Position{Commit: events[9].Position.Commit + 1, Prepare: events[9].Position.Prepare + 1}
	require.Equal(t, contents(events[:10]), between(eventlog.Start(), between1))
}

func TestACopyHasTheSameEventsInTheSameOrder(t *testing.T) {
	from, to := filled(t), esdbtest.Open(t, nodetest.Start(t))
	var copied uint64
	var last eventlog.Position
	require.NoError(t, logcopy.Append(t.Context(), to, source(from),
		func(n uint64, at eventlog.Position) { copied, last = n, at }))
	events := all(t, from)
	require.Equal(t, contents(events), contents(all(t, to)))
	require.EqualValues(t, len(events), copied)
	require.Equal(t, events[len(events)-1].Position, last)

	// when it is repeated, then no event is written
	head, err := to.Head(t.Context())
	require.NoError(t, err)
	require.NoError(t, logcopy.Append(t.Context(), to, source(from), nil))
	after, err := to.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, head, after)
}

func TestAnInterruptedCopyIsResumed(t *testing.T) {
	from, to := filled(t), esdbtest.Open(t, nodetest.Start(t))
	interrupted := errors.New("interrupted")
	for _, stop := range []int{0, 1, 300, 701, 765} { // events that arrive before the source fails
		broken := func(yield func(eventlog.Recorded, error) bool) {
			n := 0
			for event, err := range source(from) {
				if n++; n > stop {
					yield(eventlog.Recorded{}, interrupted)
					return
				}
				if !yield(event, err) {
					return
				}
			}
		}
		require.ErrorIs(t, logcopy.Append(t.Context(), to, broken, nil), interrupted)
		there := contents(all(t, to))
		require.Equal(t, contents(all(t, from))[:len(there)], there)
	}
	require.NoError(t, logcopy.Append(t.Context(), to, source(from), nil))
	require.Equal(t, contents(all(t, from)), contents(all(t, to)))
}

func TestALogWithOtherEventsIsRefused(t *testing.T) {
	from := filled(t)
	events := all(t, from)
	refused := func(t *testing.T, to eventlog.Log) *logcopy.ForeignError {
		t.Helper()
		before := contents(all(t, to))
		var foreign *logcopy.ForeignError
		require.ErrorAs(t, logcopy.Append(t.Context(), to, source(from), nil), &foreign)
		require.Equal(t, before, contents(all(t, to)), "nothing was written")
		return foreign
	}
	asIs := func(e eventlog.Recorded) eventlog.Proposed {
		return eventlog.Proposed{ID: e.ID, Type: e.Type, Data: e.Data, Metadata: e.Metadata, Binary: e.Binary}
	}
	t.Run("at the start", func(t *testing.T) {
		to := esdbtest.Open(t, nodetest.Start(t))
		appended(t, to, "other", eventlog.NoStream, proposed(1)...)
		foreign := refused(t, to)
		require.Equal(t, "other", foreign.Found.Stream)
		require.Equal(t, events[0].ID, foreign.Wanted.ID)
		require.ErrorContains(t, foreign, `event 0 of stream "other"`)
	})
	t.Run("with other data", func(t *testing.T) {
		to := esdbtest.Open(t, nodetest.Start(t))
		other := asIs(events[1])
		other.Data = slices.Concat(other.Data, []byte(" "))
		appended(t, to, events[0].Stream, eventlog.NoStream, asIs(events[0]), other)
		require.Equal(t, events[1].ID, refused(t, to).Found.ID)
	})
	t.Run("after the last", func(t *testing.T) {
		to := esdbtest.Open(t, nodetest.Start(t))
		require.NoError(t, logcopy.Append(t.Context(), to, source(from), nil))
		appended(t, to, "other", eventlog.NoStream, proposed(1)...)
		require.Nil(t, refused(t, to).Wanted)
	})
}

func TestComparingFindsMissingEvents(t *testing.T) {
	from, to := filled(t), esdbtest.Open(t, nodetest.Start(t))
	first := func(n int) iter.Seq2[eventlog.Recorded, error] {
		return func(yield func(eventlog.Recorded, error) bool) {
			for i, event := range all(t, from)[:n] {
				if i == n || !yield(event, nil) {
					return
				}
			}
		}
	}
	require.NoError(t, logcopy.Append(t.Context(), to, first(710), nil))
	require.NoError(t, logcopy.Compare(t.Context(), to, first(710), nil))
	require.ErrorContains(t, logcopy.Compare(t.Context(), to, first(711), nil), "the copy lacks event")
	var foreign *logcopy.ForeignError
	require.ErrorAs(t, logcopy.Compare(t.Context(), to, first(709), nil), &foreign)
	require.Nil(t, foreign.Wanted)
	changed := func(yield func(eventlog.Recorded, error) bool) {
		for event, err := range first(710) {
			if event.Stream == "turn-1" && event.Revision == 2 {
				event.Metadata = []byte(`{"v":1,"time":"2026-01-02T03:04:05Z"}`) // the same value, other bytes
			}
			if !yield(event, err) {
				return
			}
		}
	}
	require.Error(t, logcopy.Compare(t.Context(), to, changed, nil))
}
