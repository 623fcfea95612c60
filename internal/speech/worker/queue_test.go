package worker

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
)

func newTask(text string, first bool) *task {
	return &task{job: speech.Job{Text: text, First: first}, taken: make(chan error, 1)}
}

func TestFirstSegmentsOvertakeLaterOnesButNotForEver(t *testing.T) {
	var q queue
	for i := range 6 {
		require.NoError(t, q.push(newTask(fmt.Sprint("later", i), false)))
	}
	for i := range 12 {
		require.NoError(t, q.push(newTask(fmt.Sprint("first", i), true)))
	}
	var order []string
	for range 18 {
		taken, ok := q.take(t.Context(), nil)
		require.True(t, ok)
		order = append(order, taken.job.Text)
	}
	require.Equal(t, []string{
		"first0", "first1", "first2", "first3", "later0",
		"first4", "first5", "first6", "first7", "later1",
		"first8", "first9", "first10", "first11", "later2",
		"later3", "later4", "later5",
	}, order)
}

// In any order of arrival, nothing is lost, each kind keeps its order, and a waiting later segment is overtaken by at
// most overtakeLimit first ones in a row.
func TestQueueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var wantFirst, wantLater []*task
		overtaken := 0
		for step := range rapid.IntRange(1, 200).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") {
				added := newTask(fmt.Sprint(step), rapid.Bool().Draw(t, "first"))
				require.NoError(t, q.push(added))
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
			got, ok := q.take(context.Background(), nil)
			require.True(t, ok)
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
	})
}

func TestAProcessThatDiesWhileItWaitsLosesNoTask(t *testing.T) {
	var q queue
	for range 200 {
		died := make(chan struct{})
		type result struct {
			task *task
			ok   bool
		}
		results := make(chan result)
		go func() {
			got, ok := q.take(t.Context(), died)
			results <- result{got, ok}
		}()
		pushed := newTask("x", true)
		go close(died)
		require.NoError(t, q.push(pushed))
		if r := <-results; r.ok {
			require.Same(t, pushed, r.task)
			continue
		}
		got, ok := q.take(t.Context(), nil)
		require.True(t, ok)
		require.Same(t, pushed, got)
	}
}

func TestAClosedQueueRefusesTasks(t *testing.T) {
	var q queue
	waiting := newTask("x", false)
	require.NoError(t, q.push(waiting))
	q.close()
	require.ErrorIs(t, <-waiting.taken, speech.ErrEngineClosed)
	require.ErrorIs(t, q.push(newTask("y", true)), speech.ErrEngineClosed)
}
