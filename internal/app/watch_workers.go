package app

import (
	"context"
	"fmt"
	"time"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain/alert"
)

const (
	// crashWindow is the time in which so many deaths of workers, which are started again, are a loop.
	crashWindow, crashes = time.Minute, 5
	// failureWindow is the time over which the share of failures counts, and fewFailures how many are too few to be a share.
	failureWindow, fewFailures = 5 * time.Minute, 5
)

// tally is a pair of counters that only rise.
type tally struct{ all, bad uint64 }

// window remembers the values of a tally for a while.
type window struct {
	length  time.Duration
	samples []sample
}

type sample struct {
	at time.Time
	tally
}

// since adds a sample and returns what was counted within the window.
func (w *window) since(now time.Time, t tally) tally {
	w.samples = append(w.samples, sample{now, t})
	for len(w.samples) > 1 && now.Sub(w.samples[0].at) > w.length {
		w.samples = w.samples[1:]
	}
	first := w.samples[0]
	return tally{t.all - first.all, t.bad - first.bad}
}

// workerWatches look at the processes that speak and encode.
func (p *parts) workerWatches() []alerts.Watch {
	return []alerts.Watch{
		watchCrashes(p.here("workers/espeak-ng", alert.CrashLoop), crashWindow, func() (alive int, deaths uint64) {
			s := p.engines.Stats()
			return s.Alive, s.Respawns
		}),
		watchCrashes(p.here("workers/flite", alert.CrashLoop), crashWindow, func() (alive int, deaths uint64) {
			s := p.second.Stats()
			return s.Alive, s.Respawns
		}),
		watchCrashes(p.here("workers/codec", alert.CrashLoop), crashWindow, func() (alive int, deaths uint64) {
			s := p.codecs.Stats()
			return s.Running, s.Restarts
		}),
		watchShare(p.here(alert.SpeechSource, alert.Failing), failureLimit, func() tally {
			one, two := p.engines.Stats(), p.second.Stats()
			return tally{all: one.Jobs + two.Jobs, bad: one.Failed + two.Failed}
		}),
	}
}

// watchCrashes looks whether workers die one after the other, or none is alive.
func watchCrashes(c alert.Condition, within time.Duration, stats func() (alive int, deaths uint64)) alerts.Watch {
	recent := window{length: within}
	return alerts.Watch{
		Name: "the look at " + c.Source, Of: alerts.One(c),
		Look: func(context.Context) ([]alerts.Found, error) {
			alive, deaths := stats()
			died := recent.since(time.Now(), tally{bad: deaths}).bad
			if alive > 0 && died < crashes {
				return nil, nil
			}
			return []alerts.Found{{Condition: c, Detail: fmt.Sprintf("%d are alive, and %d have died within %s", alive, died, within)}}, nil
		},
	}
}

// watchShare looks whether more than a limit, in per cent, of what was counted lately was bad.
func watchShare(c alert.Condition, limit float64, count func() tally) alerts.Watch {
	recent := window{length: failureWindow}
	return alerts.Watch{
		Name: "the look at failures of " + c.Source, Of: alerts.One(c),
		Look: func(context.Context) ([]alerts.Found, error) {
			counted := recent.since(time.Now(), count())
			if counted.bad < fewFailures || 100*float64(counted.bad) < limit*float64(counted.all) {
				return nil, nil
			}
			return []alerts.Found{{Condition: c, Detail: fmt.Sprintf("%d of %d have failed within five minutes", counted.bad, counted.all)}}, nil
		},
	}
}
