package feed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

func TestAPoisonEventStopsItsProjectionAlone(t *testing.T) {
	const secret = "a-secret-in-the-event"
	handlers := map[string]func(t counterTable, e counterOpened, rows *table.Rows) error{
		"the handler refuses it": func(counterTable, counterOpened, *table.Rows) error { return errPoison },
		"the handler panics":     func(_ counterTable, e counterOpened, _ *table.Rows) error { panic(e.ID) },
		"a value does not fit its column": func(t counterTable, e counterOpened, rows *table.Rows) error {
			t.sum.Add(rows, counterRow{ID: e.ID, Sum: math.MaxInt64})
			t.sum.Add(rows, counterRow{ID: e.ID, Sum: math.MaxInt64})
			return nil
		},
		"Postgres refuses its row": func(t counterTable, e counterOpened, rows *table.Rows) error {
			t.Put(rows, counterRow{ID: e.ID + "\x00", Label: e.Label, Opened: metadata().Time})
			return nil
		},
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			// given a projection that cannot handle an event, and one that can
			w := newWorld(t)
			list := newCounterTable()
			bad := countersIn(list, "bad", 1)
			handle := bad.Handle
			bad.Handle = func(event eventlog.Decoded, rows *table.Rows) error {
				if opened, ok := event.Event.(counterOpened); ok && opened.Label == poisonous {
					return handler(list, opened, rows)
				}
				return handle(event, rows)
			}
			config := w.config(counters("good"), bad)
			config.Limits.Events = 50

			// when the event is in the middle of a page
			before := w.live(30)
			poison := w.append(counterOpened{ID: secret, Label: poisonous})
			last := w.live(30)
			p := start(t, config)
			status := p.awaitState("bad", StateStopped)

			// then that projection stops before it, with an alert that names the event without quoting its data
			require.Equal(t, before, status.Position)
			w.requireFold("bad", before)
			require.Len(t, p.alerted(), 1)
			alert := p.alerted()[0]
			require.Contains(t, alert, "bad: event counter-opened of stream counter-")
			require.Contains(t, alert, poison.String())
			require.NotContains(t, alert, secret)

			// and the other one continues
			require.NoError(t, p.Wait(t.Context(), last, modelOf("good")))
			w.requireFold("good", last)
			more := w.live(10)
			require.NoError(t, p.Wait(t.Context(), more, modelOf("good")))
			require.ErrorIs(t, p.Wait(t.Context(), more), ErrStopped)
			w.requireFold("good", more)
			<-p.CaughtUp()
			require.Equal(t, more, p.Reached())
		})
	}
}

func TestAllProjectionsMayStop(t *testing.T) {
	// given two projections that refuse the same event
	w := newWorld(t)
	before := w.live(10)
	w.append(counterOpened{ID: "p", Label: poisonous})
	p := start(t, w.config(picky("one"), picky("two")))

	// then both stop before it, and the projector runs until it is stopped
	require.Equal(t, before, p.awaitState("one", StateStopped).Position)
	require.Equal(t, before, p.awaitState("two", StateStopped).Position)
	<-p.CaughtUp()
	p.stop()

	// when a release starts that can handle it
	p = start(t, w.config(counters("one"), counters("two")))
	last := w.live(10)

	// then they continue
	p.await(last)
	w.requireFold("one", last)
	w.requireFold("two", last)
}

func TestAnUnknownEventStopsOnlyReadersOfItsStream(t *testing.T) {
	type shelfBuilt struct{ ID string }
	// given a read model of counters, and one that reads shelves, too
	w := newWorld(t)
	shelves := counters("shelves")
	shelves.Streams = append(shelves.Streams, "shelf-")
	config := w.config(counters("list"), shelves)
	config.Registry = registry(t, eventlog.In("shelf-", eventlog.Define[shelfBuilt]("shelf-built", 1))...)
	p := start(t, config)
	before := w.live(20)
	p.await(before)

	// when a stream of shelves gets an unknown event
	_, err := w.log.Append(t.Context(), "shelf-1", eventlog.NoStream,
		[]eventlog.Proposed{{ID: uuid.New(), Type: "shelf-painted", Data: []byte("{}"), Metadata: versioned(1)}})
	require.NoError(t, err)
	last := w.append(counterOpened{ID: "after", Label: "new"})

	// then only the reader of shelves waits for a newer release
	require.Equal(t, before, p.awaitState("shelves", StateStopped).Position)
	require.NoError(t, p.Wait(t.Context(), last, modelOf("list")))
	require.Contains(t, shown(t, w.pool, "list"), "after")
	require.Len(t, p.alerted(), 1)
	p.awaitParked(1)
}

func TestAProjectionSeesOnlyItsStreams(t *testing.T) {
	type shelfBuilt struct{ ID string }
	w := newWorld(t)
	config := w.config(counters("list"))
	config.Registry = registry(t, eventlog.In("shelf-", eventlog.Define[shelfBuilt]("shelf-built", 1))...)
	p := start(t, config)

	// when a known event is in a stream that the projection does not read
	proposed, err := config.Registry.Encode(uuid.New(), 0, metadata(), counterOpened{ID: "on the shelf", Label: "new"})
	require.NoError(t, err)
	_, err = w.log.Append(t.Context(), "shelf-1", eventlog.NoStream, proposed)
	require.NoError(t, err)
	p.await(w.append(counterOpened{ID: "c", Label: "new"}))

	// then there is no row for it
	require.Equal(t, map[string]counter{"c": {ID: "c", Label: "new"}}, shown(t, w.pool, "list"))

	// and streams without event types are refused
	config.Projections[0].Streams = eventlog.Streams{"counters-"}
	_, err = NewProjector(config)
	require.ErrorContains(t, err, `projection list: no event type is in "counters-"`)
	config.Projections[0].Streams = nil
	_, err = NewProjector(config)
	require.ErrorContains(t, err, "projection list reads no streams")
}

func TestAnEventThatCannotBeDecoded(t *testing.T) {
	data := []byte(`{"ID":"x"}`)
	tests := []struct {
		name   string
		event  eventlog.Proposed
		reason string
	}{
		{"of a newer version waits for a newer release",
			eventlog.Proposed{Type: "counter-closed", Data: data, Metadata: versioned(2)}, "newer release"},
		{"of an unknown type waits for a newer release",
			eventlog.Proposed{Type: "counter-painted", Data: data, Metadata: versioned(1)}, "newer release"},
		{"is poison when it is malformed",
			eventlog.Proposed{Type: "counter-closed", Data: []byte(`{"ID":17}`), Metadata: versioned(1)}, "cannot be decoded"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// given such an event between others
			w := newWorld(t)
			before := w.live(20)
			test.event.ID = uuid.New()
			at := w.appendRaw(test.event)
			w.live(20)

			// when a projector reads them
			p := start(t, w.config(counters("list")))
			status := p.awaitState("list", StateStopped)

			// then it stops before the event with a reason
			require.Equal(t, before, status.Position)
			require.Contains(t, status.Reason, test.reason)
			require.Contains(t, status.Reason, at.String())
			w.requireFold("list", before)

			// and its lease is free for another release
			rows, err := p.checkpoints.read(t.Context(), p.present())
			require.NoError(t, err)
			require.True(t, rows[0].free)

			// and operators see the event that blocks the generation
			blocking := p.awaitParked(1)[0]
			require.Equal(t, test.event.ID, blocking.Event)
			require.Contains(t, p.generationOf("list", 1, is(GenerationStopped)).Reason, test.reason)
			require.Len(t, p.alerted(), 1)

			// when an operator skips it, then later events are read
			require.NoError(t, p.skip(blocking.Event))
			p.awaitState("list", StateRunning)
			p.await(w.append(counterOpened{ID: "after", Label: "new"}))
			require.Contains(t, shown(t, w.pool, "list"), "after")
		})
	}
}

func versioned(v int) []byte {
	return fmt.Appendf(nil, `{"v":%d,"time":"2026-11-21T00:00:00Z","actor":{"kind":"system"}}`, v)
}

func TestEventsOfForeignStreamsAreSkipped(t *testing.T) {
	// given a log that is shared with another application, with events that may look like ours
	w := newWorld(t)
	theirs := []eventlog.Proposed{
		{ID: uuid.New(), Type: "theirs", Data: []byte("{}"), Metadata: []byte("{}")},
		{ID: uuid.New(), Type: "Their Type", Data: []byte{0xff, 0}},
		{ID: uuid.New(), Type: "counter-opened", Data: []byte(`{"ID":"not ours","Label":"new"}`), Metadata: versioned(1)},
		{ID: uuid.New(), Type: "counter-opened", Data: []byte(`{"ID":17}`), Metadata: versioned(1)},
		{ID: uuid.New(), Type: "counter-closed", Data: []byte(`{"ID":"before"}`), Metadata: versioned(7)},
	}
	w.append(counterOpened{ID: "before", Label: "new"})
	_, err := w.log.Append(t.Context(), "counters", eventlog.NoStream, theirs)
	require.NoError(t, err)
	config := w.config(counters("list"))
	var foreign atomic.Int64
	config.OnPage = func(s PageStats) { foreign.Add(int64(s.Foreign)) }
	p := start(t, config)
	last := w.append(counterOpened{ID: "after", Label: "new"})

	// then our events before and after theirs are read, and theirs are counted
	p.await(last)
	require.Equal(t, map[string]counter{"before": {ID: "before", Label: "new"}, "after": {ID: "after", Label: "new"}},
		shown(t, w.pool, "list"))
	require.EqualValues(t, len(theirs), foreign.Load())
	require.Empty(t, p.alerted())

	// when the last event is theirs, then there is no lag
	_, err = w.log.Append(t.Context(), "theirs", eventlog.NoStream, theirs)
	require.NoError(t, err)
	p.await(w.headOf())
	lag, err := p.Lag(t.Context())
	require.NoError(t, err)
	require.Zero(t, lag)
}

// A failure that is not caused by the event must not make it poison.
func TestTransientFailuresAreRepeatedInPlace(t *testing.T) {
	// given a loop with occasional external failures
	w := newWorld(t)
	config := w.config(counters("list"))
	visits := 0
	config.fault = func(step string) error {
		if visits++; visits%3 == 0 {
			return errors.New("the network is unreachable")
		}
		return nil
	}
	p := start(t, config)

	// when events are written
	last := w.live(100)
	p.await(last)

	// then all are read
	w.requireFold("list", last)
	require.Empty(t, strings.Join(p.alerted(), "\n"))
}

func TestTransientErrors(t *testing.T) {
	tests := map[string]bool{
		"08006": true, "40001": true, "40P01": true, "57P01": true, "57P03": true, "53300": true, "53100": true,
		"55P03": true,
		"25006": true, "58030": true, "XX000": true, "42501": true,
		"22003": false, "22021": false, "23505": false, "42P01": false, "54000": false,
	}
	for code, want := range tests {
		require.Equal(t, want, transient(sqlError(code)), code)
	}
	require.True(t, transient(errors.New("unexpected EOF")))
	require.True(t, transient(context.DeadlineExceeded))
	require.False(t, transient(errMoved))
	require.False(t, transient(&permanentError{errPoison}))
}
