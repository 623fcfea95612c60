package alerts

import (
	"cmp"
	"context"
	"time"

	"github.com/recital-tts/recital/domain/alert"
)

// Watch looks for conditions at intervals. One that is found RaiseAfter times in a row is raised, and one that is open is
// cleared when it was not found ClearAfter times in a row, so that what comes and goes raises one alert and not many.
type Watch struct {
	Name       string        // for errors, such as "the look at the disk"
	Every      time.Duration // between looks; 5 s by default
	RaiseAfter int           // 3 by default
	ClearAfter int           // 3 by default
	// Look returns the conditions that hold. After an error nothing is known, which counts as no look.
	Look func(ctx context.Context) ([]Found, error)
	// Of reports whether Look would find a condition if it held: those of before a restart are cleared by it, too.
	Of func(alert.Condition) bool
}

// One returns the Of of a look for one condition.
func One(c alert.Condition) func(alert.Condition) bool {
	return func(other alert.Condition) bool { return other == c }
}

const lookEvery = 5 * time.Second

// streak is how often in a row a condition was found, or was not.
type streak struct {
	found, missed int
	since         time.Time // it was found first
}

// Watch looks until ctx ends, and returns nil.
func (c *Conditions) Watch(ctx context.Context, w Watch) error {
	w.Every = cmp.Or(w.Every, lookEvery)
	w.RaiseAfter, w.ClearAfter = cmp.Or(w.RaiseAfter, 3), cmp.Or(w.ClearAfter, 3)
	streaks := map[alert.Condition]streak{}
	ticker := time.NewTicker(w.Every)
	defer ticker.Stop()
	for {
		found, err := w.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			c.alerts.log.DebugContext(ctx, "a look found nothing out", "look", w.Name, "error", err)
		default:
			c.noteLook(w, streaks, found)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *Conditions) noteLook(w Watch, streaks map[alert.Condition]streak, found []Found) {
	now, seen := time.Now(), map[alert.Condition]bool{}
	for _, f := range found {
		seen[f.Condition] = true
		s := streaks[f.Condition]
		if s.found == 0 {
			s.since = now
		}
		s.found, s.missed = s.found+1, 0
		streaks[f.Condition] = s
		if f.Since.IsZero() {
			f.Since = s.since
		}
		if s.found >= w.RaiseAfter {
			c.Holds(f)
		}
	}
	for _, condition := range c.known() {
		if _, followed := streaks[condition]; !followed && w.Of(condition) {
			streaks[condition] = streak{}
		}
	}
	for condition, s := range streaks {
		if seen[condition] {
			continue
		}
		s.found, s.missed = 0, s.missed+1
		streaks[condition] = s
		if s.missed >= w.ClearAfter {
			c.Over(condition)
			delete(streaks, condition)
		}
	}
}
