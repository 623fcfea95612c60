package worker

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
)

func newTask(text string, first bool) *task {
	return &task{job: speech.Job{Text: text, First: first}, taken: make(chan error, 1)}
}

// arrive adds a task to a queue, after those that are already waiting.
func arrive(ctx context.Context, q *queue, t *task) {
	go func() { _ = q.pass(ctx, nil, t) }()
	synctest.Wait()
}

// taken returns the next task after the queue has noted that.
func taken(t require.TestingT, q *queue) *task {
	got, ok := q.take(context.Background(), nil)
	require.True(t, ok)
	got.taken <- nil
	synctest.Wait()
	return got
}

func TestFirstSegmentsOvertakeLaterOnesButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		for i := range 6 {
			arrive(t.Context(), q, newTask(fmt.Sprint("later", i), false))
		}
		for i := range 12 {
			arrive(t.Context(), q, newTask(fmt.Sprint("first", i), true))
		}
		var order []string
		for range 18 {
			order = append(order, taken(t, q).job.Text)
		}
		require.Equal(t, []string{
			"first0", "first1", "first2", "first3", "later0",
			"first4", "first5", "first6", "first7", "later1",
			"first8", "first9", "first10", "first11", "later2",
			"later3", "later4", "later5",
		}, order)
	})
}

// In any order of arrival, nothing is lost, each kind keeps its order, and a waiting later segment is overtaken by at
// most overtakeLimit first ones in a row.
func TestQueueOrder(t *testing.T) {
	rapid.Check(t, func(drawn *rapid.T) {
		synctest.Test(t, func(*testing.T) { keepsOrder(drawn) })
	})
}

func keepsOrder(t *rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	q := newQueue()
	var wantFirst, wantLater []*task
	overtaken := 0
	for step := range rapid.IntRange(1, 200).Draw(t, "steps") {
		if rapid.Bool().Draw(t, "push") {
			added := newTask(fmt.Sprint(step), rapid.Bool().Draw(t, "first"))
			arrive(ctx, q, added)
			if added.job.First {
				wantFirst = append(wantFirst, added)
			} else {
				wantLater = append(wantLater, added)
			}
			continue
		}
		if len(wantFirst)+len(wantLater) == 0 {
			continue
		}
		waiting := len(wantLater) > 0
		got := taken(t, q)
		if got.job.First {
			require.Same(t, wantFirst[0], got)
			wantFirst = wantFirst[1:]
			if overtaken++; !waiting {
				overtaken = 0
			}
			require.LessOrEqual(t, overtaken, overtakeLimit)
		} else {
			require.Same(t, wantLater[0], got)
			wantLater, overtaken = wantLater[1:], 0
		}
		require.Equal(t, len(wantFirst)+len(wantLater), q.len())
	}
}

func TestAProcessThatDiesWhileItWaitsLosesNoTask(t *testing.T) {
	q := newQueue()
	for range 200 {
		died := make(chan struct{})
		results := make(chan *task)
		go func() {
			got, _ := q.take(t.Context(), died)
			results <- got
		}()
		passed := newTask("x", true)
		passed.taken <- nil
		go close(died)
		go func() { _ = q.pass(t.Context(), nil, passed) }()
		got := <-results
		if got == nil {
			got, _ = q.take(t.Context(), nil)
		}
		require.Same(t, passed, got)
	}
}

func TestWaitingTasksAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, closed, results := newQueue(), make(chan struct{}), make(chan error)
		pass := func() {
			go func() { results <- q.pass(t.Context(), closed, newTask("x", false)) }()
			synctest.Wait()
		}
		pass()
		q.refuse(errNoProcess)
		require.ErrorIs(t, <-results, errNoProcess)
		pass()
		close(closed)
		require.ErrorIs(t, <-results, speech.ErrEngineClosed)
	})
}
