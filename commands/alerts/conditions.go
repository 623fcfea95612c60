package alerts

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

const (
	// recordEvery is how often what the log did not take is tried again, and assertEvery how often what holds is compared with
	// the log, where an operator may have cleared it.
	recordEvery = time.Second
	assertEvery = 30 * time.Second
	// maxChanges is how many changes wait for the log at most.
	maxChanges = 1000
)

// Found is a condition that holds.
type Found struct {
	alert.Condition
	Since  time.Time // when it began; zero means when it was found
	Detail string    // for the log line alone; never personal data
}

// Conditions are what lasts: one that begins to hold is raised, one that does not any more is cleared, and each time is an alert
// with an id of its own. What holds is known at once, whatever the log does; Run appends it, with the times at which it was found.
type Conditions struct {
	// Own reports whether a condition is of this instance alone, so that it is over when that stops in order; nil means that none
	// is. It is set before Run.
	Own func(alert.Condition) bool

	alerts  *Alerts
	changed chan struct{} // holds a value while there may be changes that Run has not seen

	mu      sync.Mutex
	holding map[alert.Condition]time.Time // found by this instance, and since when
	adopted map[alert.Condition]bool      // open in the log, from before
	changes []change                      // that the log does not have, the oldest first
}

// change is a condition that has begun or ceased to hold.
type change struct {
	command   uuid.UUID
	condition alert.Condition
	holds     bool
	at        time.Time
}

// NewConditions returns conditions none of which is known to hold.
func NewConditions(a *Alerts) *Conditions {
	return &Conditions{
		alerts: a, changed: make(chan struct{}, 1), holding: map[alert.Condition]time.Time{}, adopted: map[alert.Condition]bool{},
	}
}

// Holds raises the alert of a condition, unless it is known to hold. It never blocks.
func (c *Conditions) Holds(found Found) {
	if found.Since.IsZero() {
		found.Since = time.Now()
	}
	if !c.begin(found) {
		return
	}
	c.alerts.announce(context.Background(), Occasion{
		Source: found.Source, Subject: found.Subject, Reason: found.Reason, Detail: found.Detail, At: found.Since,
	})
}

// begin reports whether the condition was not known to hold.
func (c *Conditions) begin(found Found) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.holding[found.Condition]; known {
		return false
	}
	c.holding[found.Condition] = found.Since
	c.add(found.Condition, true, found.Since)
	return true
}

// Over clears the alert of a condition, if it is known to be open. It never blocks.
func (c *Conditions) Over(condition alert.Condition) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	since, held := c.holding[condition]
	if !held && !c.adopted[condition] {
		return
	}
	delete(c.holding, condition)
	delete(c.adopted, condition)
	c.add(condition, false, now)
	c.alerts.log.Info("alert is over", "source", condition.Source, "subject", condition.Subject, "reason", condition.Reason, "since", since)
}

// add queues a change; the mutex is locked.
func (c *Conditions) add(condition alert.Condition, holds bool, at time.Time) {
	if len(c.changes) == maxChanges {
		c.alerts.lost(c.changes[0].condition, "too many wait for the log")
		c.changes = c.changes[1:]
	}
	c.changes = append(c.changes, change{uuid.New(), condition, holds, at.UTC()})
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Adopt makes alerts known that are open in the log, so that Over clears those of before a restart and of other instances. What
// the log is about to hear is not adopted: it does not know yet that it is over.
func (c *Conditions) Adopt(open []alert.Open) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.adopted)
	for _, o := range open {
		if o.Lasting && !c.waits(o.Condition) {
			c.adopted[o.Condition] = true
		}
	}
}

// Open returns what this instance has found to hold, in no order, also what the log does not have yet.
func (c *Conditions) Open() []alert.Open {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := make([]alert.Open, 0, len(c.holding))
	for condition, since := range c.holding {
		open = append(open, alert.Open{Condition: condition, Since: since, Lasting: true})
	}
	return open
}

// known returns the conditions that are known to be open.
func (c *Conditions) known() (known []alert.Condition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for condition := range c.holding {
		known = append(known, condition)
	}
	for condition := range c.adopted {
		if _, twice := c.holding[condition]; !twice {
			known = append(known, condition)
		}
	}
	return known
}

// Run appends what changes until ctx ends, and repeats what the log does not take. Then it clears what is of this instance alone,
// tries the rest once more and returns nil.
func (c *Conditions) Run(ctx context.Context) error {
	retry, assert := time.NewTicker(recordEvery), time.NewTicker(assertEvery)
	defer retry.Stop()
	defer assert.Stop()
	for {
		c.record(ctx)
		select {
		case <-c.changed:
		case <-retry.C:
		case <-assert.C:
			c.assert()
		case <-ctx.Done():
			return c.recordLast(ctx)
		}
	}
}

// assert raises again what holds, which changes nothing unless the log has it as cleared.
func (c *Conditions) assert() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for condition := range c.holding {
		if !c.waits(condition) {
			c.add(condition, true, time.Now())
		}
	}
}

// waits reports whether the log is to hear of a condition; the mutex is locked.
func (c *Conditions) waits(condition alert.Condition) bool {
	return slices.ContainsFunc(c.changes, func(one change) bool { return one.condition == condition })
}

// end clears what no other instance would see the end of.
func (c *Conditions) end() {
	if c.Own == nil {
		return
	}
	for _, condition := range c.known() {
		if c.Own(condition) {
			c.Over(condition)
		}
	}
}

func (c *Conditions) recordLast(ctx context.Context) error {
	c.end()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer cancel()
	c.record(ctx)
	for next, ok := c.next(); ok; next, ok = c.next() {
		c.alerts.lost(next.condition, "recitald ended before the log took it")
		c.drop(next)
	}
	return nil
}

// record appends the changes in order, until the log takes no more.
func (c *Conditions) record(ctx context.Context) {
	for next, ok := c.next(); ok && ctx.Err() == nil; next, ok = c.next() {
		err := c.alerts.change(ctx, next)
		if unavailable(err) {
			return
		}
		if err != nil {
			c.alerts.lost(next.condition, err.Error())
		}
		c.drop(next)
	}
}

func (c *Conditions) next() (next change, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.changes) == 0 {
		return next, false
	}
	return c.changes[0], true
}

// drop removes a change, unless it was dropped to make room.
func (c *Conditions) drop(done change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.changes) > 0 && c.changes[0].command == done.command {
		c.changes = c.changes[1:]
	}
}

// change appends a change of a condition, if the log does not have it.
func (a *Alerts) change(ctx context.Context, ch change) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	var command journal.Decider[alert.ConditionState, alert.ConditionEvent] = alert.ClearCondition{At: ch.at}
	if ch.holds {
		command = alert.RaiseCondition{Condition: ch.condition, Alert: ch.command.String(), At: ch.at}
	}
	_, _, err := journal.Execute(ctx, a.journal, conditionStream(ch.condition), command, journal.System().Metadata(ch.command, time.Now()))
	return err
}

func (a *Alerts) lost(condition alert.Condition, why string) {
	a.log.Error("an alert is not in the log", "source", condition.Source, "subject", condition.Subject, "reason", condition.Reason, "why", why)
}

// Clear clears an open alert for an operator. That of a condition which still holds comes back under a new id. Clearing it again
// changes nothing.
func (a *Alerts) Clear(ctx context.Context, open alert.Open, at time.Time, origin journal.Origin) (eventlog.Position, error) {
	if open.Alert == "" {
		return eventlog.Position{}, errors.New("an alert that is not in the log cannot be cleared")
	}
	id := journal.DeriveID(open.Alert, "clear alert")
	if open.Lasting {
		command := alert.ClearCondition{Alert: open.Alert, At: at}
		_, position, err := journal.Execute(ctx, a.journal, conditionStream(open.Condition), command, origin.Metadata(id, at))
		return position, err
	}
	_, position, err := journal.Execute(ctx, a.journal, stream(id), alert.Clear{Alert: open.Alert, At: at}, origin.Metadata(id, at))
	return position, err
}

// conditionStream returns the stream of a condition. Its last event says all that there is to know.
func conditionStream(c alert.Condition) journal.Stream[alert.ConditionState, alert.ConditionEvent] {
	id := journal.DeriveID(c.Source+"\n"+c.Subject+"\n"+string(c.Reason), "condition")
	return journal.Stream[alert.ConditionState, alert.ConditionEvent]{
		Name: alert.ConditionPrefix + id.String(), Evolve: alert.EvolveCondition,
	}
}
