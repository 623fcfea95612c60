package esdb_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventlog/logtest"
)

type appendResult struct {
	eventlog.Appended
	err error
}

func appendInBackground(
	ctx context.Context, log eventlog.Log, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) <-chan appendResult {
	results := make(chan appendResult, 1)
	go func() {
		appended, err := log.Append(ctx, stream, expected, events)
		results <- appendResult{appended, err}
	}()
	return results
}

func TestAnAppendWithALostResponseIsWrittenOnce(t *testing.T) {
	n := startNetwork(t, nil)
	log, direct := impatient(t, n.address()), n.direct()
	ctx := within(t, patience)
	_, err := log.Append(ctx, "s", eventlog.NoStream, event("first"))
	require.NoError(t, err)

	n.afflict("timeout", `{"timeout": 0}`, "downstream")
	second := event("second")
	result := appendInBackground(ctx, log, "s", 0, second)
	require.Eventually(t, func() bool { return len(streamIDs(t, direct, "s")) == 2 }, patience, 5*time.Millisecond,
		"the append was written without a response")
	_, err = direct.Append(ctx, "s", 1, event("another writer is faster"))
	require.NoError(t, err)
	n.recover()

	appended := <-result
	require.NoError(t, appended.err)
	require.Len(t, streamIDs(t, direct, "s"), 3)
	for recorded, err := range direct.ReadStream(ctx, "s", 1) {
		require.NoError(t, err)
		require.Equal(t, second[0].ID, recorded.ID)
		require.Equal(t, eventlog.Appended{Revision: 1, Position: recorded.Position}, appended.Appended)
		break
	}
}

func TestAnAppendThatWasLostMeetsTheConflictOfItsRepetition(t *testing.T) {
	n := startNetwork(t, nil)
	log, direct := impatient(t, n.address()), n.direct()
	ctx := within(t, patience)
	_, err := log.Append(ctx, "s", eventlog.NoStream, event("first"))
	require.NoError(t, err)

	n.afflict("timeout", `{"timeout": 0}`, "upstream")
	result := appendInBackground(ctx, log, "s", 0, event("lost on the way"))
	other := event("other")
	_, err = direct.Append(ctx, "s", 0, other)
	require.NoError(t, err)
	select {
	case early := <-result:
		t.Fatalf("ended during the outage: %v", early.err)
	case <-time.After(300 * time.Millisecond): // the first attempt has timed out
	}
	n.recover()

	var conflict *eventlog.ConflictError
	require.ErrorAs(t, (<-result).err, &conflict)
	require.Equal(t, &eventlog.ConflictError{Stream: "s", Expected: 0, Actual: 1}, conflict)
	require.Equal(t, other[0].ID, streamIDs(t, direct, "s")[1])
}

func TestTheEndOfAContextLeavesTheOutcomeOpen(t *testing.T) {
	n := startNetwork(t, nil)
	log := impatient(t, n.address())
	_, err := log.Append(within(t, patience), "s", eventlog.NoStream, event("first"))
	require.NoError(t, err)

	n.afflict("timeout", `{"timeout": 0}`, "downstream")
	_, err = log.Append(within(t, time.Second), "s", 0, event("second"))
	require.ErrorIs(t, err, eventlog.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// The subscription itself cannot detect that its connection is half open. A call on the same connection detects it.
func TestASubscriptionLeavesAHalfOpenConnection(t *testing.T) {
	n := startNetwork(t, nil)
	log, direct := impatient(t, n.address()), n.direct()
	ctx := within(t, patience)
	reader := logtest.NewReader(log.Subscribe(ctx, eventlog.Start()), eventlog.Start(), func(string) bool { return true })
	reader.CaughtUp(t)

	n.afflict("timeout", `{"timeout": 0}`, "downstream")
	next := event("unseen")
	_, err := direct.Append(ctx, "s", eventlog.NoStream, next)
	require.NoError(t, err)
	_, err = log.Head(within(t, time.Second))
	require.Error(t, err)
	require.Equal(t, eventlog.KindInterrupted, (<-reader.Deliveries()).Kind)

	n.recover()
	caught := reader.CaughtUp(t)
	require.Len(t, caught, 1)
	require.Equal(t, next[0].ID, caught[0].ID)
}

// If another connection can be made, the end of a connection does not refuse any call.
func TestTheEndOfAConnectionIsNoOutage(t *testing.T) {
	const callers, ends = 32, 5
	n := startNetwork(t, nil)
	log := open(t, esdb.Config{ConnectionString: n.address()})
	ctx, cancel := context.WithCancel(within(t, patience))
	defer cancel()
	var calls atomic.Int64
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			for ctx.Err() == nil {
				if _, err := log.Head(context.WithoutCancel(ctx)); err != nil {
					t.Errorf("reading the head: %v", err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for range ends {
		goal := calls.Load() + 10*callers
		require.True(t, assertEventually(ctx, func() bool { return calls.Load() >= goal || t.Failed() }))
		n.gate.sever()
	}
	cancel()
	wait.Wait()
}
