package lifecycle_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/lifecycle"
)

// work is a group with one job, the times of its runs, and its log.
type work struct {
	group lifecycle.Group
	began time.Time
	done  []time.Duration // since began
	log   bytes.Buffer
}

func begin(after <-chan struct{}, do func(context.Context) error) *work {
	w := &work{began: time.Now()}
	w.group.Add(lifecycle.Job{
		Name: "the sweep", Every: time.Hour, After: after,
		Do: func(ctx context.Context) error {
			w.done = append(w.done, time.Since(w.began))
			return do(ctx)
		},
		Logger: slog.New(slog.NewTextHandler(&w.log, nil)),
	}.Part())
	return w
}

func well(context.Context) error { return nil }

func TestAJobRunsImmediatelyAndThenAtIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(nil, well)
		time.Sleep(150 * time.Minute)
		require.NoError(t, w.group.Stop())
		require.Equal(t, []time.Duration{0, time.Hour, 2 * time.Hour}, w.done)
		require.Empty(t, w.log.String())
	})
}

func TestAJobWaitsUntilItMayBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{})
		w := begin(ready, well)
		time.AfterFunc(time.Minute, func() { close(ready) })
		time.Sleep(2 * time.Hour)
		require.NoError(t, w.group.Stop())
		require.Equal(t, []time.Duration{time.Minute, time.Hour + time.Minute}, w.done)
	})
	t.Run("or is stopped", func(t *testing.T) {
		w := begin(make(chan struct{}), well)
		require.NoError(t, w.group.Stop())
		require.Empty(t, w.done)
	})
}

func TestAFailedJobIsRetriedAndTheProgramContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(nil, func(context.Context) error { return errors.New("the log is down") })
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		require.NoError(t, w.group.Wait(ctx), "the program continues")
		require.NoError(t, w.group.Stop())
		assert.Len(t, w.done, 2)
		assert.Equal(t, 2, bytes.Count(w.log.Bytes(),
			[]byte(`level=WARN msg="a job failed" job="the sweep" error="the log is down"`)))
	})
}

func TestAJobIsInterruptedByStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(nil, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		time.Sleep(time.Minute)
		require.NoError(t, w.group.Stop())
		require.Empty(t, w.log.String(), "this is not a failure")
	})
}
