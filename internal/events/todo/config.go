package todo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Config configures a Worker.
type Config struct {
	Process Process
	Limits  Limits

	// Ready is closed when the list shows everything that was in the log at the start.
	Ready <-chan struct{}
	// Now is the clock by which items are due; nil means time.Now. Pauses and failures keep real time.
	Now func() time.Time
	// Shown waits until the list shows the outcomes up to a position.
	Shown func(ctx context.Context, position eventlog.Position) error
	// GiveUp raises the alert of an item that is given up. It is called again after a restart, and after an error,
	// which pauses the process: the alert must be raised once.
	GiveUp func(ctx context.Context, item GivenUp) error

	IsLeader func(ctx context.Context) (bool, error) // reports whether this instance leads the process; nil: always
	// wakes the worker when the list may have changed; nil: only Limits.Poll does
	Notifier *Notifier
	Metrics  *Metrics     // nil: none
	Logger   *slog.Logger // nil discards
}

// Limits are the limits of a Worker. A zero field means its default.
type Limits struct {
	Batch       int           // items read at once: 200
	Concurrency int           // items carried out at once: 8
	Timeout     time.Duration // of one attempt: 30 s

	Attempts     int           // after which an item is given up: 10
	FirstPause   time.Duration // after the first failure of an item; each further one doubles it, plus or minus half: 1 s
	LongestPause time.Duration // upper bound of the doubling: 5 min
	Rest         time.Duration // between the attempts of an item that was given up: 1 h
	MaxFailing   int           // failing items that are remembered; with more, the process pauses as in an outage: 1,000
	OutagePause  time.Duration // the longest pause of the process in an outage: 30 s

	Poll time.Duration // the longest sleep of a worker: 5 s
	// how long an item must have been due before an instance that does not lead carries it out: 30 s
	Takeover time.Duration
}

func (l Limits) withDefaults() Limits {
	number := func(field *int, standard int) {
		if *field == 0 {
			*field = standard
		}
	}
	duration := func(field *time.Duration, standard time.Duration) {
		if *field == 0 {
			*field = standard
		}
	}
	number(&l.Batch, 200)
	number(&l.Concurrency, 8)
	duration(&l.Timeout, 30*time.Second)
	number(&l.Attempts, 10)
	duration(&l.FirstPause, time.Second)
	duration(&l.LongestPause, 5*time.Minute)
	duration(&l.Rest, time.Hour)
	number(&l.MaxFailing, 1000)
	duration(&l.OutagePause, 30*time.Second)
	duration(&l.Poll, 5*time.Second)
	duration(&l.Takeover, 30*time.Second)
	return l
}

func (l Limits) check() error {
	if l.Batch < 0 || l.Concurrency < 0 || l.Attempts < 0 || l.MaxFailing < 0 {
		return errors.New("a limit is negative")
	}
	for _, d := range []time.Duration{l.Timeout, l.FirstPause, l.LongestPause, l.Rest, l.OutagePause, l.Poll, l.Takeover} {
		if d < 0 {
			return errors.New("a duration is negative")
		}
	}
	return nil
}

var processName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (c *Config) validate() error {
	switch {
	case !processName.MatchString(c.Process.Name):
		return fmt.Errorf("to-do worker %q: a name is lower case letters, digits and underscores", c.Process.Name)
	case c.Process.List == nil, c.Process.Do == nil:
		return fmt.Errorf("to-do worker %s: a list and what is to be done are needed", c.Process.Name)
	case c.Ready == nil, c.Shown == nil, c.GiveUp == nil:
		return fmt.Errorf("to-do worker %s: Ready, Shown and GiveUp are needed", c.Process.Name)
	}
	if err := c.Limits.check(); err != nil {
		return fmt.Errorf("to-do worker %s: %w", c.Process.Name, err)
	}
	return nil
}

func (c *Config) setDefaults() {
	c.Limits = c.Limits.withDefaults()
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.IsLeader == nil {
		c.IsLeader = func(context.Context) (bool, error) { return true, nil }
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}
