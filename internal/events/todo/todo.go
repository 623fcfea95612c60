// Package todo implements the workers of to-do lists.
//
// A process is work that follows an event after some time: an unsettled reservation expires, a subscription is fetched
// again after a webhook. It has two halves. A projection lists the due items, in a view that is built from the log like
// any other. A worker carries out each item and appends the outcome, which names its cause and removes the item from
// the list.
//
// Only the log records whether an item is done. The list may be late, lost or rebuilt, and several workers may read it
// concurrently, so an item may be carried out again at any time. Process.Do must tolerate that: it decides on the
// stream's state and appends at the revision that it read, under an id that CommandID derives from the cause. A
// repetition is then either the identical append or a decision that changes nothing.
//
// A Worker starts when the read models have caught up, and sleeps until the next item is due or the read model of its
// list has changed (Notifier). It reads the list again only when the list shows the previous outcomes, so that items
// are not repeated needlessly. Slow items do not delay later ones, unless there are Limits.Concurrency of them.
//
// A failed item is retried after a pause that doubles, and is given up after Limits.Attempts: an alert is raised, and
// the item is retried only every Limits.Rest, so that it succeeds without further intervention once the cause of the
// failure is removed. An outage of the log, of Postgres or of another dependency pauses the whole process and does not
// count as an attempt. Attempts are counted in memory: after a restart the count starts over, and giving up an item
// again raises no second alert.
//
// One of several instances works a process (Config.IsLeader). That avoids duplicate work, but correctness does not
// depend on it: the other instances take over what has been due for longer than Limits.Takeover.
package todo

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// Item is one piece of work.
type Item struct {
	ID     string    // unique in its list; never personal data, because logs and alerts show it
	Stream string    // of the outcome
	Due    time.Time // the time from which it is to be done
	Cause  uuid.UUID // id of the event, or of the command, that led to it
}

// key distinguishes an item from a later one with the same id.
type key struct {
	id    string
	cause uuid.UUID
}

func (i Item) key() key { return key{i.ID, i.Cause} }

// CommandID returns the id of the command that carries out an item: the same in every instance and for every
// repetition. It is a UUIDv5 (RFC 9562, 5.5) with the cause as the namespace.
func CommandID(process, item string, cause uuid.UUID) uuid.UUID {
	return uuid.NewSHA1(cause, []byte(process+" "+item))
}

// List is a projection of due items.
type List interface {
	// Due returns the items that are due by a time, the longest due first, without those in except. It also returns the
	// due time of the first later item, or zero if there is none.
	Due(ctx context.Context, by time.Time, except []Item, limit int) (items []Item, next time.Time, err error)
}

// Process is a kind of item.
type Process struct {
	Name string // of its metrics, alerts and commands; lower case letters, digits and underscores
	List List

	// Do carries out an item and returns the log position of the outcome or, if the item was already done, of the state
	// that shows it. It may be called again for a completed item. An error with code domain.Unavailable means that a
	// dependency of all items does not answer. With a *NotYetError the item waits. Any other error, a panic, and exceeding
	// Limits.Timeout count as a failed attempt of the item. Error texts contain no personal data.
	Do func(ctx context.Context, item Item) (eventlog.Position, error)
}

// NotYetError is returned by Process.Do for an item that is not due yet, whatever the list shows. It is not a failure.
type NotYetError struct{ After time.Duration }

// Error returns the pause of the item.
func (e *NotYetError) Error() string { return fmt.Sprintf("the item is due in %v", e.After) }

// GivenUp is an item with too many failed attempts.
type GivenUp struct {
	Process  string
	Item     Item
	Attempts int   // since the process started
	Err      error // of the last attempt
	At       time.Time
}

// Config configures a Worker.
type Config struct {
	Process Process
	Limits  Limits

	// Ready is closed when the list shows everything that was in the log at the start.
	Ready <-chan struct{}
	// Now is the clock for due items; nil means time.Now. Pauses and failures use real time.
	Now func() time.Time
	// Shown waits until the list shows the outcomes up to a position.
	Shown func(ctx context.Context, position eventlog.Position) error
	// GiveUp raises the alert for an item that is given up. It must raise the alert only once, because it is called again
	// after a restart and after an error, which pauses the process.
	GiveUp func(ctx context.Context, item GivenUp) error

	IsLeader func(ctx context.Context) (bool, error) // reports whether this instance leads the process; nil: always
	// wakes the worker when the list may have changed; nil: only Limits.Poll does
	Notifier *Notifier
	Model    readmodel.Model // of the list, for the Notifier
	Metrics  *Metrics        // nil: none
	Logger   *slog.Logger    // nil discards
}

// Limits are the limits of a Worker. A zero field means its default.
type Limits struct {
	Batch       int           // items per read: 200
	Concurrency int           // concurrently carried out items: 8
	Timeout     time.Duration // of one attempt: 30 s

	Attempts     int           // after which an item is given up: 10
	FirstPause   time.Duration // after the first failure of an item; each further one doubles it, plus or minus half: 1 s
	LongestPause time.Duration // upper bound of the doubling: 5 min
	Rest         time.Duration // between the attempts of a given-up item: 1 h
	MaxFailing   int           // remembered failing items; with more, the process pauses as in an outage: 1,000
	OutagePause  time.Duration // the longest pause of the process in an outage: 30 s

	Poll time.Duration // the longest sleep of a worker: 5 s
	// time after which an instance that does not lead carries out a due item: 30 s
	Takeover time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Batch, l.Concurrency = cmp.Or(l.Batch, 200), cmp.Or(l.Concurrency, 8)
	l.Timeout = cmp.Or(l.Timeout, 30*time.Second)
	l.Attempts = cmp.Or(l.Attempts, 10)
	l.FirstPause = cmp.Or(l.FirstPause, time.Second)
	l.LongestPause = cmp.Or(l.LongestPause, 5*time.Minute)
	l.Rest = cmp.Or(l.Rest, time.Hour)
	l.MaxFailing = cmp.Or(l.MaxFailing, 1000)
	l.OutagePause = cmp.Or(l.OutagePause, 30*time.Second)
	l.Poll = cmp.Or(l.Poll, 5*time.Second)
	l.Takeover = cmp.Or(l.Takeover, 30*time.Second)
	return l
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

// Metrics are the metrics of an instance's workers. They implement prometheus.Collector.
type Metrics struct {
	*prometheus.Registry

	attempts, failures *prometheus.CounterVec
	givenUp            *prometheus.GaugeVec
}

// NewMetrics returns Metrics without workers.
func NewMetrics() *Metrics {
	process := []string{"process"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, process)
	}
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		attempts: counter("recital_todo_attempts_total", "Attempts to carry out an item of a to-do list."),
		failures: counter("recital_todo_failures_total", "Attempts that failed, without outages."),
		givenUp: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "recital_todo_given_up_items", Help: "Items that were given up and are not done."}, process),
	}
	m.MustRegister(m.attempts, m.failures, m.givenUp)
	return m
}

// watch initialises the figures of a process to zero.
func (m *Metrics) watch(p Process) {
	m.attempts.WithLabelValues(p.Name)
	m.failures.WithLabelValues(p.Name)
	m.givenUp.WithLabelValues(p.Name)
}
