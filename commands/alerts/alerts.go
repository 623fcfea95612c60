// Package alerts raises and clears alerts, which call for a person's attention. Each alert is an event, a log line and
// a count in the metrics.
//
//   - Raise raises an alert for an occasion, and RaiseLater does it for callers that must not wait for the log.
//   - Holds and Over raise and clear the alert of a condition, which lasts for a while.
//
// Run appends the events for which callers do not wait.
package alerts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// Events returns the event types of alerts.
func Events() []eventlog.Type {
	return slices.Concat(
		eventlog.In(alert.Stream,
			eventlog.Define[alert.Raised]("alert-raised", 1),
			eventlog.Define[alert.Cleared]("alert-cleared", 1)),
		eventlog.In(alert.ConditionPrefix,
			eventlog.Define[alert.ConditionRaised]("condition-raised", 1),
			eventlog.Define[alert.ConditionCleared]("condition-cleared", 1)))
}

// Alerts raises and clears alerts. It is safe for concurrent use.
type Alerts struct {
	// Own reports whether a condition concerns this instance alone, so that it ends when the instance stops in an orderly
	// way; nil means that none does. It is set before Run.
	Own func(alert.Condition) bool

	journal *journal.Journal
	log     *slog.Logger
	observe func(source string, reason alert.Reason)

	changed chan struct{} // has a value while there may be new entries for Run

	mu      sync.Mutex
	waiting []entry                       // for the log, oldest first
	holding map[alert.Condition]time.Time // detected by this instance, with their starts
	adopted map[alert.Condition]bool      // open in the log, raised before a restart or by another instance
}

// New returns an Alerts without conditions. It logs to log and calls observe, which must not block, once for each time
// that an alert is raised.
func New(j *journal.Journal, log *slog.Logger, observe func(source string, reason alert.Reason)) *Alerts {
	return &Alerts{
		journal: j, log: log, observe: observe, changed: make(chan struct{}, 1),
		holding: map[alert.Condition]time.Time{}, adopted: map[alert.Condition]bool{},
	}
}

// Occasion is the cause of an alert. Source, subject, reason and cause identify it: every instance that detects it,
// also after a restart, raises the same alert, which is in the log once.
type Occasion struct {
	Source  string // the component that detected it, such as todo/expiry
	Subject string // id of the object concerned, never personal data
	Reason  alert.Reason
	Cause   uuid.UUID // of the event or command that led to it; zero for none
	Detail  string    // for the log line alone; never personal data
	At      time.Time
}

// id returns the id of the command and of the alert. For a to-do item it equals the id that its process derives.
func (o Occasion) id() uuid.UUID {
	source := strings.TrimPrefix(o.Source, alert.ToDoSource(""))
	reason := strings.ReplaceAll(string(o.Reason), "_", " ")
	return uuid.NewSHA1(o.Cause, []byte(source+" "+reason+" "+o.Subject))
}

func (o Occasion) origin() journal.Origin {
	if o.Cause == uuid.Nil {
		return journal.System()
	}
	return journal.CausedBy(o.Cause)
}

func (o Occasion) condition() alert.Condition {
	return alert.Condition{Source: o.Source, Subject: o.Subject, Reason: o.Reason}
}

// Raise appends the alert of an occasion, unless it is in the log, and then logs and counts it. After an error it was
// neither logged nor counted, and Raise should be called again.
func (a *Alerts) Raise(ctx context.Context, o Occasion) error {
	if err := a.append(ctx, o); err != nil {
		return err
	}
	a.announce(ctx, o.condition(), o.Detail)
	return nil
}

// RaiseLater logs and counts the alert of an occasion, and queues it for Run. It never blocks.
func (a *Alerts) RaiseLater(o Occasion) {
	a.announce(context.Background(), o.condition(), o.Detail)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.enqueue(entry{command: o.id(), about: o.condition(),
		append: func(ctx context.Context) error { return a.append(ctx, o) }})
}

// GaveUp raises the alert of an item that a to-do worker has given up.
func (a *Alerts) GaveUp(ctx context.Context, g todo.GivenUp) error {
	return a.Raise(ctx, Occasion{
		Source: alert.ToDoSource(g.Process), Subject: g.Item.ID, Reason: alert.GaveUp, Cause: g.Item.Cause, At: g.At,
		Detail: fmt.Sprintf("attempt %d of an item in stream %s failed: %v", g.Attempts, g.Item.Stream, g.Err),
	})
}

// Clear clears an open alert for an operator. If its condition still holds, an alert with a new id is raised again.
// Clearing an alert again has no effect.
func (a *Alerts) Clear(
	ctx context.Context, open alert.Open, at time.Time, origin journal.Origin,
) (eventlog.Position, error) {
	if open.Alert == "" {
		return eventlog.Position{}, errors.New("an alert that is not in the log cannot be cleared")
	}
	id := journal.DeriveID(open.Alert, "clear alert")
	if open.Lasting {
		command := alert.ClearCondition{Alert: open.Alert, At: at}
		_, position, err := journal.Execute(ctx, a.journal, conditionStream(open.Condition), command, origin.Metadata(id, at))
		return position, err
	}
	_, position, err := journal.Execute(ctx, a.journal, stream(id), alert.Clear{Alert: open.Alert, At: at},
		origin.Metadata(id, at))
	return position, err
}

// append may be called for each detection of the occasion, and appends one event.
func (a *Alerts) append(ctx context.Context, o Occasion) error {
	id := o.id()
	raise := alert.Raise{Alert: id.String(), Source: o.Source, Subject: o.Subject, Reason: o.Reason, At: o.At.UTC()}
	_, _, err := journal.Execute(ctx, a.journal, stream(id), raise, o.origin().Metadata(id, o.At))
	return err
}

func (a *Alerts) announce(ctx context.Context, c alert.Condition, detail string) {
	a.log.ErrorContext(ctx, "alert", "source", c.Source, "subject", c.Subject, "reason", c.Reason, "detail", detail)
	a.observe(c.Source, c.Reason)
}

// stream returns the stream of all alerts, of which only the command's own event is read, because it grows without
// limit.
func stream(command uuid.UUID) journal.Stream[alert.State, alert.Event] {
	return journal.Stream[alert.State, alert.Event]{
		Name: alert.Stream, Evolve: alert.Evolve, Only: journal.EventID(command),
	}
}

// conditionStream returns the stream of a condition, whose last event is its whole state.
func conditionStream(c alert.Condition) journal.Stream[alert.ConditionState, alert.ConditionEvent] {
	id := journal.DeriveID(c.Source+"\n"+c.Subject+"\n"+string(c.Reason), "condition")
	return journal.Stream[alert.ConditionState, alert.ConditionEvent]{
		Name: alert.ConditionPrefix + id.String(), Evolve: alert.EvolveCondition,
	}
}
