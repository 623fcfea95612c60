package app

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestScrapesShareAnAnswerAndWaitForNoneTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, deaf := 0, false
		r := newRecent(func(ctx context.Context) (int, error) {
			asked++
			if deaf {
				<-ctx.Done()
				return asked, ctx.Err()
			}
			return asked, nil
		})
		requireShown := func(want int, known bool, within time.Duration) {
			t.Helper()
			begun := time.Now()
			answer, is := r.get()
			require.Equal(t, known, is)
			require.Equal(t, want, answer)
			require.Equal(t, within, time.Since(begun))
		}
		requireShown(1, true, 0)
		time.Sleep(recentAge - 1)
		requireShown(1, true, 0)

		// when Postgres does not answer, then its metrics are missing, and one scrape has waited for it
		deaf = true
		time.Sleep(time.Nanosecond)
		requireShown(0, false, recentTimeout)
		requireShown(0, false, 0)

		// and they are back with the next query
		deaf = false
		time.Sleep(recentAge)
		requireShown(3, true, 0)
	})
}

func TestScrapesAtTheSameTimeShareAQuestion(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	answered := make(chan struct{})
	r := newRecent(func(context.Context) (int64, error) {
		n := asked.Add(1)
		<-answered
		return n, nil
	})
	var scrapes sync.WaitGroup
	for range 10 {
		scrapes.Go(func() { r.get() })
	}
	require.Eventually(t, func() bool { return asked.Load() > 0 }, time.Minute, time.Millisecond)
	close(answered)
	scrapes.Wait()
	require.EqualValues(t, 1, asked.Load())
}

func TestAPartialAnswerIsDiscarded(t *testing.T) {
	t.Parallel()
	r := newRecent(func(context.Context) ([]int, error) { return []int{1}, errors.New("cut") })
	answer, known := r.get()
	require.False(t, known)
	require.Empty(t, answer)
}
