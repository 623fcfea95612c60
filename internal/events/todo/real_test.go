package todo_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
)

// numbered returns the names of n chores.
func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("chore", i)
	}
	return names
}

// requireDoneOnce waits until chores are done and checks that each has one outcome with its cause.
func (h *house) requireDoneOnce(chores ...string) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return len(h.outcomes()) >= len(chores) }, patience, 10*time.Millisecond)
	outcomes := h.outcomes()
	require.Len(h.t, outcomes, len(chores))
	for _, chore := range chores {
		require.Equal(h.t, []uuid.UUID{h.causeOf(chore)}, outcomes[chore])
	}
}

// listed returns the number of items on the list, due or not.
func (h *house) listed() (n int) {
	h.t.Helper()
	require.NoError(h.t, h.Pool.QueryRow(h.t.Context(), "select count(*) from read_v1.todo_chores").Scan(&n))
	return n
}

func TestOnlyDueItemsAreDone(t *testing.T) {
	// given due chores, and one that is not due
	h := newHouse(t)
	projector, _ := h.project()
	due := numbered(300)
	h.ask(time.Now().Add(-time.Minute), due...)
	require.NoError(t, projector.Wait(t.Context(), h.ask(time.Now().Add(time.Hour), "later")))

	// when a worker works
	h.start(worker{name: "one", shown: wait(projector)})

	// then the due chores have outcomes and are off the list
	h.requireDoneOnce(due...)
	require.Eventually(t, func() bool { return h.listed() == 1 }, patience, 10*time.Millisecond)
}

func TestAFailedItemIsDoneLater(t *testing.T) {
	// given chores with failing first attempts
	h := newHouse(t)
	projector, _ := h.project()
	require.NoError(t, projector.Wait(t.Context(), h.ask(time.Now(), numbered(10)...)))
	var attempts atomic.Int64
	h.start(worker{shown: wait(projector), do: func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
		if attempts.Add(1) <= 25 { // each item has ten
			return eventlog.Position{}, errors.New("not now")
		}
		return h.do(ctx, "one", item)
	}})
	h.requireDoneOnce(numbered(10)...)
}

func TestGivingUpRaisesOneAlertEvenAfterARestart(t *testing.T) {
	// given failing chores, and a worker that has given them up
	h := newHouse(t)
	projector, _ := h.project()
	require.NoError(t, projector.Wait(t.Context(), h.ask(time.Now(), numbered(5)...)))
	raised := alerts.New(&journal.Journal{Log: h.Log, Registry: h.Registry}, slog.New(slog.DiscardHandler),
		func(string, alert.Reason) {})
	var fixed atomic.Bool
	var given atomic.Int64
	failing := worker{
		name: "one", shown: wait(projector),
		do: func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
			if !fixed.Load() {
				return eventlog.Position{}, errors.New("broken")
			}
			return h.do(ctx, "one", item)
		},
		giveUp: func(ctx context.Context, item todo.GivenUp) error {
			defer given.Add(1)
			return raised.GaveUp(ctx, item)
		},
	}
	stop := h.start(failing)
	require.Eventually(t, func() bool { return given.Load() == 5 }, patience, time.Millisecond)
	stop()

	// when another worker starts counting from 0, and gives them up, too
	h.start(failing)
	require.Eventually(t, func() bool { return given.Load() == 10 }, patience, time.Millisecond)

	// then each has one alert
	subjects := map[string]int{}
	for recorded, err := range h.Log.ReadStream(t.Context(), "alerts", 0) {
		require.NoError(t, err)
		decoded, err := h.Registry.Decode(recorded)
		require.NoError(t, err)
		subjects[decoded.Event.(alert.Raised).Subject]++
		require.Equal(t, h.causeOf(decoded.Event.(alert.Raised).Subject), decoded.Meta.CausationID)
	}
	require.Equal(t, map[string]int{"chore0": 1, "chore1": 1, "chore2": 1, "chore3": 1, "chore4": 1}, subjects)

	// and once the cause is removed, they are done
	fixed.Store(true)
	h.requireDoneOnce(numbered(5)...)
}

func TestTwoWorkersDoEachItemOnce(t *testing.T) {
	// given two workers without leader locks, so that both start every item
	h := newHouse(t)
	projector, _ := h.project()
	h.start(worker{name: "one", shown: wait(projector)})
	h.start(worker{name: "two", shown: wait(projector)})

	// then each chore has one outcome in the log
	h.ask(time.Now(), numbered(200)...)
	h.requireDoneOnce(numbered(200)...)
}

// A worker crashes after its outcome is in the log and before the list shows it.
func TestACrashBetweenTheOutcomeAndTheListRepeatsNothing(t *testing.T) {
	// given a list that is not updated
	h := newHouse(t)
	projector, stand := h.project()
	require.NoError(t, projector.Wait(t.Context(), h.ask(time.Now(), numbered(20)...)))
	stand()

	// when a worker does all items and crashes, and another starts
	never := func(ctx context.Context, _ eventlog.Position) error { <-ctx.Done(); return ctx.Err() }
	crash := h.start(worker{name: "one", shown: never})
	h.requireDoneOnce(numbered(20)...)
	crash()
	var repeated atomic.Int64
	h.start(worker{shown: never, do: func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
		defer repeated.Add(1)
		return h.do(ctx, "two", item)
	}})
	require.Equal(t, 20, h.listed())
	require.Eventually(t, func() bool { return repeated.Load() == 20 }, patience, time.Millisecond)

	// then its repetitions have no effect
	h.requireDoneOnce(numbered(20)...)
	h.project()
	require.Eventually(t, func() bool { return h.listed() == 0 }, patience, 10*time.Millisecond)
}

func TestAnOutcomeWithALostResponseIsNotRepeated(t *testing.T) {
	h := newHouse(t)
	projector, _ := h.project()
	require.NoError(t, projector.Wait(t.Context(), h.ask(time.Now(), numbered(10)...)))
	var lost atomic.Int64
	h.start(worker{shown: wait(projector), do: func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
		position, err := h.do(ctx, "one", item)
		if err == nil && lost.Add(1) <= 10 {
			return eventlog.Position{}, fmt.Errorf("appending: %w", context.DeadlineExceeded)
		}
		return position, err
	}})
	h.requireDoneOnce(numbered(10)...)
	require.Eventually(t, func() bool { return h.listed() == 0 }, patience, 10*time.Millisecond)
}

func TestALostDatabaseRepeatsNothing(t *testing.T) {
	// given chores, half of them done
	h := newHouse(t)
	projector, stop := h.project()
	h.ask(time.Now(), numbered(20)...)
	end := h.start(worker{name: "one", shown: wait(projector)})
	h.requireDoneOnce(numbered(20)...)
	end()
	require.NoError(t, projector.Wait(t.Context(), h.ask(time.Now(), "left")))
	stop()

	// when the database is lost, then the rebuilt list has the remaining chores, and they are done
	h = h.onNewDatabase()
	projector, _ = h.project()
	require.Equal(t, 1, h.listed())
	h.start(worker{name: "two", shown: wait(projector)})
	h.requireDoneOnce(append(numbered(20), "left")...)
}

func TestAnotherInstanceTakesOver(t *testing.T) {
	// given two instances, the first of which leads
	h := newHouse(t)
	projector, _ := h.project()
	first, second := pglist.NewLeaderLocks(h.Pool), pglist.NewLeaderLocks(h.Pool)
	t.Cleanup(func() { require.NoError(t, errors.Join(first.Close(), second.Close())) })
	leads, err := first.TryAcquire(t.Context(), "chores")
	require.NoError(t, err)
	require.True(t, leads)
	var byFirst, bySecond atomic.Int64
	count := func(n *atomic.Int64, name string) func(context.Context, todo.Item) (eventlog.Position, error) {
		return func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
			n.Add(1)
			return h.do(ctx, name, item)
		}
	}
	end := h.start(worker{locks: first, shown: wait(projector), do: count(&byFirst, "one")})
	h.start(worker{locks: second, shown: wait(projector), do: count(&bySecond, "two")})
	h.ask(time.Now(), numbered(50)...)
	h.requireDoneOnce(numbered(50)...)
	require.EqualValues(t, 50, byFirst.Load())
	require.Zero(t, bySecond.Load())
	require.Eventually(t, func() bool { return h.listed() == 0 }, patience, 10*time.Millisecond,
		"the list never shows that the chores are done")

	// when the first one ends with its connection, then the second one takes over
	end()
	require.NoError(t, first.Close())
	h.ask(time.Now(), "more")
	h.requireDoneOnce(append(numbered(50), "more")...)
	require.EqualValues(t, 1, bySecond.Load())
}

func wait(projector interface {
	Wait(ctx context.Context, position eventlog.Position, models ...readmodel.Model) error
}) func(context.Context, eventlog.Position) error {
	return func(ctx context.Context, position eventlog.Position) error {
		return projector.Wait(ctx, position, choresModel)
	}
}
