package health_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/process/health"
)

var (
	diskFull  = alert.Condition{Source: "disk", Subject: "host:/data", Reason: alert.DiskFull}
	elsewhere = alert.Condition{Source: "disk", Subject: "another host:/data", Reason: alert.DiskFull}
)

// openAlerts maps the conditions of open alerts to the times since which they hold.
type openAlerts struct {
	mu   sync.Mutex
	open map[alert.Condition]time.Time
}

func (a *openAlerts) Holds(condition alert.Condition, since time.Time, _ string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.open[condition]; !known {
		a.open[condition] = since
	}
}

func (a *openAlerts) Over(condition alert.Condition) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, condition)
}

func (a *openAlerts) Known() []alert.Condition {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.open))
}

// run looks once a second, and returns the number of open alerts after each look.
func run(t *testing.T, open map[alert.Condition]time.Time, script []health.Finding) (after []int, alerts *openAlerts) {
	t.Helper()
	alerts = &openAlerts{open: open}
	synctest.Test(t, func(t *testing.T) {
		board := health.NewBoard(alerts, time.Second)
		looks := 0
		board.Add(health.Check{Name: "the disk has room", RaiseAfter: 3, ClearAfter: 4, Raises: diskFull.Is,
			Look: func(context.Context) health.Finding {
				looks++
				return script[looks-1]
			}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(len(script))*time.Second-time.Millisecond)
		defer cancel()
		go func() { _ = board.Run(ctx) }()
		time.Sleep(time.Millisecond)
		for range script {
			after = append(after, len(alerts.Known()))
			time.Sleep(time.Second)
		}
	})
	return after, alerts
}

func TestAConditionIsRaisedAndClearedAfterSeveralLooks(t *testing.T) {
	full := health.Broken("97 % are used", "make room").Raising(diskFull, time.Time{})
	empty, unknown := health.Sound("%d %% are used", 7), health.Broken("it cannot be seen", "mount it").ButUnknown()
	for name, c := range map[string]struct {
		open   map[alert.Condition]time.Time
		script []health.Finding
		want   []int
	}{
		"a lasting condition is raised": {nil, []health.Finding{full, full, full, full}, []int{0, 0, 1, 1}},
		"one that comes and goes is not": {nil, []health.Finding{full, full, empty, full, full, empty},
			[]int{0, 0, 0, 0, 0, 0}},
		"an open one that comes and goes is not cleared": {nil, []health.Finding{full, full, full, empty, empty, empty, full},
			[]int{0, 0, 1, 1, 1, 1, 1}},
		"one that has ended is cleared": {nil, []health.Finding{full, full, full, empty, empty, empty, empty},
			[]int{0, 0, 1, 1, 1, 1, 0}},
		"an unknown finding changes nothing": {
			nil, []health.Finding{full, full, full, unknown, unknown, unknown, unknown, unknown}, []int{0, 0, 1, 1, 1, 1, 1, 1}},
		"a condition from before a restart is cleared, but only of this check": {
			map[alert.Condition]time.Time{diskFull: {}, elsewhere: {}}, []health.Finding{empty, empty, empty, empty, empty},
			[]int{2, 2, 2, 1, 1}},
	} {
		if c.open == nil {
			c.open = map[alert.Condition]time.Time{}
		}
		after, _ := run(t, c.open, c.script)
		require.Equal(t, c.want, after, name)
	}
}

func TestAConditionHoldsSinceItWasFirstFound(t *testing.T) {
	full := health.Broken("97 % are used", "make room")
	found := full.Raising(diskFull, time.Time{})
	_, alerts := run(t, map[alert.Condition]time.Time{}, []health.Finding{found, found, found})
	first := alerts.open[diskFull]
	require.False(t, first.IsZero())

	known := first.Add(-time.Hour)
	found = full.Raising(diskFull, known)
	_, alerts = run(t, map[alert.Condition]time.Time{}, []health.Finding{found, found, found})
	require.Equal(t, known, alerts.open[diskFull])
}

func TestTheDoctorAndBalancersSeeTheSameChecks(t *testing.T) {
	t.Parallel()
	broken := false
	board := health.NewBoard(&openAlerts{}, time.Second)
	board.Add(
		health.Check{
			Name: "the store answers",
			Lacks: func() []string {
				if broken {
					return []string{"the store"}
				}
				return nil
			},
			Look: func(context.Context) health.Finding {
				if broken {
					return health.Broken("it is away", "start it")
				}
				return health.Sound("in %s", time.Millisecond)
			},
		},
		health.Check{Name: "the files are private", Look: func(context.Context) health.Finding {
			return health.Sound("two of them").But(health.Warning, "chmod 600")
		}},
	)
	require.Empty(t, board.Missing())
	found := board.Examine(t.Context())
	require.Len(t, found, 2)
	require.Equal(t, health.Result{
		Check: "the store answers", State: health.OK, Since: found[0].Since, Found: "in 1ms",
	}, found[0])
	require.Equal(t, health.Result{
		Check: "the files are private", State: health.Warning, Since: found[1].Since,
		Found: "two of them", Advice: "chmod 600",
	}, found[1])

	// when one of them breaks, then its state changes now, and the other one's does not
	broken = true
	require.Equal(t, []string{"the store"}, board.Missing())
	again := board.Examine(t.Context())
	require.Equal(t, health.Fault, again[0].State)
	require.True(t, again[0].Since.After(found[0].Since))
	require.Equal(t, found[1], again[1])
}
