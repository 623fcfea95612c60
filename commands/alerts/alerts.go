// Package alerts raises and clears alerts: what a person should look at. Each alert is an event, a log line and a count in the
// metrics.
//
//   - Alerts.Raise raises what happens once, and Queue does it for callers that must not wait.
//   - Conditions raises and clears what lasts. Holds and Over are for parts that know it by themselves; Watch is for what has to
//     be looked at, with hysteresis.
package alerts

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/todo"
)

// Alerts raises alerts.
type Alerts struct {
	journal *journal.Journal
	log     *slog.Logger
	observe func(source string, reason alert.Reason)
}

// New returns an Alerts. It logs to log and calls observe, which must not block, once for each time that an alert is
// raised.
func New(j *journal.Journal, log *slog.Logger, observe func(source string, reason alert.Reason)) *Alerts {
	return &Alerts{journal: j, log: log, observe: observe}
}

// Raise appends the alert of an occasion, unless it is in the log, and then logs and counts it. After an error nothing
// was logged or counted, and Raise should be called again.
func (a *Alerts) Raise(ctx context.Context, o Occasion) error {
	if err := a.append(ctx, o); err != nil {
		return err
	}
	a.announce(ctx, o)
	return nil
}

// GaveUp raises the alert of an item that a to-do worker has given up.
func (a *Alerts) GaveUp(ctx context.Context, g todo.GivenUp) error {
	return a.Raise(ctx, Occasion{
		Source: ToDoSource(g.Process), Subject: g.Item.ID, Reason: alert.GaveUp, Cause: g.Item.Cause, At: g.At,
		Detail: fmt.Sprintf("attempt %d of an item in stream %s failed: %v", g.Attempts, g.Item.Stream, g.Err),
	})
}

// append is carried out as often as the occasion is noticed, and appends one event.
func (a *Alerts) append(ctx context.Context, o Occasion) error {
	id := o.id()
	raise := alert.Raise{Alert: id.String(), Source: o.Source, Subject: o.Subject, Reason: o.Reason, At: o.At.UTC()}
	_, _, err := journal.Execute(ctx, a.journal, stream(id), raise, o.origin().Metadata(id, o.At))
	return err
}

func (a *Alerts) announce(ctx context.Context, o Occasion) {
	a.log.ErrorContext(ctx, "alert", "source", o.Source, "subject", o.Subject, "reason", o.Reason, "detail", o.Detail)
	a.observe(o.Source, o.Reason)
}

// stream returns the stream of all alerts, read for the one that a command raises, because the stream has no end.
func stream(command uuid.UUID) journal.Stream[alert.State, alert.Event] {
	return journal.Stream[alert.State, alert.Event]{
		Name: alert.Stream, Evolve: alert.Evolve, Only: journal.EventID(command),
	}
}
