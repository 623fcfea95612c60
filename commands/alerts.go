package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/todo"
)

const alertStream = "alerts"

// Alerts raises alerts.
type Alerts struct{ journal Journal }

// NewAlerts makes an Alerts.
func NewAlerts(journal Journal) *Alerts { return &Alerts{journal: journal} }

// GaveUp raises the alert of an item that a to-do worker has given up. It is the same alert after a restart and in every
// instance, and is in the log once.
func (a *Alerts) GaveUp(ctx context.Context, g todo.GivenUp) error {
	id := todo.CommandID(g.Process+" gave up", g.Item.ID, g.Item.Cause)
	raise := alert.Raise{Alert: id.String(), Source: "todo/" + g.Process, Subject: g.Item.ID, Reason: alert.GaveUp, At: g.At}
	order := systemOrder(id, g.At)
	order.Cause = g.Item.Cause
	return a.raise(ctx, raise, order)
}

// raise appends the alert, unless it is there.
func (a *Alerts) raise(ctx context.Context, raise alert.Raise, order Order) error {
	for {
		state, at, err := a.look(ctx, order.Command)
		if err != nil {
			return err
		}
		events, err := raise.Decide(state)
		if err != nil || len(events) == 0 {
			return err
		}
		proposed, err := encode(a.journal.Registry, order, events)
		if err != nil {
			return err
		}
		_, err = a.journal.Log.Append(ctx, alertStream, at, proposed)
		if conflict := new(eventlog.ConflictError); errors.As(err, &conflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("appending to %s: %w", alertStream, err)
		}
		return nil
	}
}

// look reads the alerts back to the one of a command. The stream has no end, so of all that was read only that one is
// kept.
func (a *Alerts) look(ctx context.Context, command uuid.UUID) (alert.State, eventlog.Revision, error) {
	var state alert.State
	at := eventlog.NoStream
	for recorded, err := range a.journal.Log.ReadStreamBackwards(ctx, alertStream) {
		if err != nil {
			return nil, at, fmt.Errorf("reading %s backwards: %w", alertStream, err)
		}
		at = max(at, eventlog.Revision(recorded.Revision))
		if recorded.ID != eventlog.EventID(command, 0) {
			continue
		}
		event, err := decode[alert.Event](a.journal.Registry, recorded)
		if err != nil {
			return nil, at, err
		}
		return alert.Evolve(state, event), at, nil
	}
	return state, at, nil
}
