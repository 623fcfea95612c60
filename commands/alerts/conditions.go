package alerts

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/alert"
)

// Holds raises the alert of a condition, unless it is known to hold. A zero since means now. The detail is only for the
// log, and never personal data. Holds never blocks.
func (a *Alerts) Holds(condition alert.Condition, since time.Time, detail string) {
	if since.IsZero() {
		since = time.Now()
	}
	if a.begin(condition, since) {
		a.announce(context.Background(), condition, detail)
	}
}

// begin records that a condition holds, and reports whether that is new.
func (a *Alerts) begin(condition alert.Condition, since time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.holding[condition]; known {
		return false
	}
	a.holding[condition] = since
	a.raise(condition, since)
	return true
}

// Over clears the alert of a condition, if it is known to be open. It never blocks.
func (a *Alerts) Over(condition alert.Condition) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	since, held := a.holding[condition]
	if !held && !a.adopted[condition] {
		return
	}
	delete(a.holding, condition)
	delete(a.adopted, condition)
	a.change(condition, uuid.New(), alert.ClearCondition{At: now.UTC()})
	a.log.Info("alert is over", "source", condition.Source, "subject", condition.Subject, "reason", condition.Reason,
		"since", since)
}

// raise queues the event that a condition holds. It has no effect if the log has it as open. The mutex is locked.
func (a *Alerts) raise(condition alert.Condition, since time.Time) {
	command := uuid.New()
	a.change(condition, command, alert.RaiseCondition{Condition: condition, Alert: command.String(), At: since.UTC()})
}

func (a *Alerts) change(
	condition alert.Condition, id uuid.UUID, command journal.Decider[alert.ConditionState, alert.ConditionEvent],
) {
	a.enqueue(entry{command: id, about: condition, append: func(ctx context.Context) error {
		_, _, err := journal.Execute(ctx, a.journal, conditionStream(condition), command,
			journal.System().Metadata(id, time.Now()))
		return err
	}})
}

// Adopt records which alerts are open in the log, so that Over can clear alerts that were raised before a restart or by
// other instances. A condition that waits for the log is not adopted, because the log does not have its last change
// yet.
func (a *Alerts) Adopt(open []alert.Open) {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.adopted)
	for _, o := range open {
		if o.Lasting && !a.waits(o.Condition) {
			a.adopted[o.Condition] = true
		}
	}
}

// Open returns the conditions that this instance has detected, in no particular order, including those that are not in
// the log yet.
func (a *Alerts) Open() []alert.Open {
	a.mu.Lock()
	defer a.mu.Unlock()
	open := make([]alert.Open, 0, len(a.holding))
	for condition, since := range a.holding {
		open = append(open, alert.Open{Condition: condition, Since: since, Lasting: true})
	}
	return open
}

// Known returns the conditions that are known to be open, in no particular order.
func (a *Alerts) Known() (known []alert.Condition) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for condition := range a.holding {
		known = append(known, condition)
	}
	for condition := range a.adopted {
		if _, twice := a.holding[condition]; !twice {
			known = append(known, condition)
		}
	}
	return known
}

// assert raises detected conditions again, because an operator may have cleared them.
func (a *Alerts) assert() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for condition := range a.holding {
		if !a.waits(condition) {
			a.raise(condition, time.Now())
		}
	}
}

// end clears the conditions that concern this instance alone, because other instances cannot detect their end.
func (a *Alerts) end() {
	for _, condition := range a.Known() {
		if a.Own != nil && a.Own(condition) {
			a.Over(condition)
		}
	}
}
