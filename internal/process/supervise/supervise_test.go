package supervise_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/supervise"
)

// life is the behaviour of one process of a test.
type life struct {
	broken bool          // it fails to start
	length time.Duration // until it ends by itself; 0 means that it runs until it is stopped
	useful bool
}

// house starts processes with the given lives, one after the other, and records what happens.
type house struct {
	lives   []life
	last    chan struct{} // closed when the last of them begins; optional
	began   time.Time
	starts  []time.Duration // since began
	stopped int             // processes that were stopped
	failing []string        // reasons, as reported
	log     bytes.Buffer
}

var policy = supervise.Policy{FirstDelay: 100 * time.Millisecond, LongestDelay: time.Second, Steady: 10 * time.Second}

func (h *house) child(policy supervise.Policy) supervise.Child[life] {
	return supervise.Child[life]{
		Name: "singer", Start: h.start, Serve: h.serve, Policy: policy,
		Failing: func(reason error) { h.failing = append(h.failing, reason.Error()) },
		Logger:  slog.New(slog.NewTextHandler(&h.log, nil)),
	}
}

func (h *house) start(context.Context) (life, error) {
	h.starts = append(h.starts, time.Since(h.began))
	next := h.lives[0]
	if h.lives = h.lives[1:]; len(h.lives) == 0 && h.last != nil {
		close(h.last)
	}
	if next.broken {
		return life{}, errors.New("no such program")
	}
	return next, nil
}

func (h *house) serve(ctx context.Context, l life) (bool, error) {
	var over <-chan time.Time
	if l.length > 0 {
		over = time.After(l.length)
	}
	select {
	case <-over:
		return l.useful, errors.New("it died")
	case <-ctx.Done():
		h.stopped++
		return l.useful, nil
	}
}

// observe keeps processes with these lives running until the last one is stopped.
func observe(t *testing.T, policy supervise.Policy, lives ...life) *house {
	h := &house{lives: append(lives, life{})}
	synctest.Test(t, func(t *testing.T) {
		h.began, h.last = time.Now(), make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			h.child(policy).Run(ctx)
		}()
		<-h.last
		synctest.Wait()
		stop()
		<-ended
	})
	require.Equal(t, 1, h.stopped, "the last process runs until it is stopped")
	return h
}

// pauses returns the times between the end of a process and the start of the next one.
func (h *house) pauses(lives ...life) []time.Duration {
	var pauses []time.Duration
	for i, l := range lives {
		pauses = append(pauses, h.starts[i+1]-h.starts[i]-l.length)
	}
	return pauses
}

// requireAbout allows for the jitter.
func requireAbout(t *testing.T, want []time.Duration, got []time.Duration) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.InDelta(t, want[i].Seconds(), got[i].Seconds(), 0.21*want[i].Seconds(), "pause %d: %v", i, got)
	}
}

func ms(numbers ...int) []time.Duration {
	var all []time.Duration
	for _, n := range numbers {
		all = append(all, time.Duration(n)*time.Millisecond)
	}
	return all
}

func TestPauses(t *testing.T) {
	brief := life{length: time.Millisecond}
	broken := life{broken: true}
	useful := life{length: time.Millisecond, useful: true}
	steady := life{length: 10 * time.Second}
	for _, c := range []struct {
		name   string
		lives  []life
		pauses []time.Duration
	}{
		{"grow up to the longest", []life{brief, broken, brief, broken, brief, brief}, ms(100, 200, 400, 800, 1000, 1000)},
		{"there is none after a process that was of use", []life{useful, useful, useful}, ms(0, 0, 0)},
		{"there is none after a steady life", []life{steady, steady}, ms(0, 0)},
		{"begin anew after a process that was of use", []life{brief, brief, brief, useful, brief, brief},
			ms(100, 200, 400, 0, 100, 200)},
		{"begin anew after a steady life", []life{broken, brief, steady, brief}, ms(100, 200, 0, 100)},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := observe(t, policy, c.lives...)
			requireAbout(t, c.pauses, h.pauses(c.lives...))
		})
	}
	t.Run("grow regardless of age if the policy has no steady age", func(t *testing.T) {
		ageless := supervise.Policy{FirstDelay: policy.FirstDelay, LongestDelay: policy.LongestDelay}
		h := observe(t, ageless, steady, steady)
		requireAbout(t, ms(100, 200), h.pauses(steady, steady))
	})
	t.Run("differ between processes that ended together", func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 20 {
			seen[observe(t, policy, brief).starts[1]] = true
		}
		require.Greater(t, len(seen), 1)
	})
}

func TestRepeatedFailuresAreReported(t *testing.T) {
	brief, broken, useful := life{length: time.Millisecond}, life{broken: true},
		life{length: time.Millisecond, useful: true}
	for _, c := range []struct {
		name  string
		lives []life
		want  []string
	}{
		{"not after a single failure", []life{broken, useful, brief, useful}, nil},
		{"after each one from the second in a row", []life{brief, broken, brief},
			[]string{"starting it: no such program", "it died"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, observe(t, policy, c.lives...).failing)
		})
	}
}

func TestEndsAreLoggedWithTheirReasons(t *testing.T) {
	h := observe(t, policy, life{broken: true}, life{length: time.Millisecond, useful: true})
	lines := h.log.String()
	assert.Contains(t, lines,
		`level=ERROR msg="a child process cannot be kept running" child=singer error="starting it: no such program"`)
	assert.Contains(t, lines, `level=WARN msg="a child process ended and is replaced" child=singer error="it died"`)
	assert.Equal(t, 2, bytes.Count(h.log.Bytes(), []byte("\n")), "stopping a process is not logged")
}

func TestARunningProcessIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given a running process that dies, and one after it that does not
		h := &house{lives: []life{{}}, began: time.Now()}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			h.child(policy).Keep(ctx, life{length: time.Second})
		}()
		time.Sleep(5 * time.Second)
		stop()
		<-ended
		require.Len(t, h.starts, 1, "only the second process is started")
		requireAbout(t, ms(100), []time.Duration{h.starts[0] - time.Second})
		require.Equal(t, 1, h.stopped)
	})
}

func TestStopping(t *testing.T) {
	for name, c := range map[string]struct {
		after   time.Duration
		lives   []life
		stopped int
	}{
		"before the start":       {0, nil, 1}, // Keep stops its argument
		"while a process runs":   {time.Second, []life{{}}, 1},
		"in the middle of pause": {200 * time.Millisecond, []life{{broken: true}, {broken: true}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &house{lives: c.lives, began: time.Now()}
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(c.after, stop)
				if c.after == 0 {
					stop()
					h.child(policy).Keep(ctx, life{})
				} else {
					h.child(policy).Run(ctx)
				}
				require.Equal(t, c.after, time.Since(h.began), "it returns at once")
				require.Equal(t, c.stopped, h.stopped)
				require.Len(t, h.starts, len(c.lives), fmt.Sprint(h.starts))
			})
		})
	}
}
