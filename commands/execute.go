// Package commands carries commands out: load the stream, fold it, let the domain decide, append at the revision that
// was read. The streaming synthesis is a command handler, too, and so are the workers of to-do lists.
package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/eventlog"
)

// Journal is what all commands write to and read from.
type Journal struct {
	Log      eventlog.Log
	Registry *eventlog.Registry
}

// Order says who gave a command, and when. The same order carried out again gives the same event ids.
type Order struct {
	Command     uuid.UUID
	Correlation uuid.UUID // of the request; may be zero
	Cause       uuid.UUID // the event that led to it; may be zero
	Actor       eventlog.Actor
	At          time.Time
}

func (o Order) metadata() eventlog.Metadata {
	return eventlog.Metadata{CorrelationID: o.Correlation, CausationID: o.Cause, Actor: o.Actor, Time: o.At}
}

// decider is a command of an aggregate.
type decider[S, E any] interface {
	Decide(state S) ([]E, error)
}

// execute carries one command out on a stream. A conflict is decided anew until ctx ends. The position is that of the
// events written, or of the last event read when the command changed nothing.
func execute[S, E any](ctx context.Context, j Journal, stream string, evolve func(S, E) S, command decider[S, E], order Order) (eventlog.Position, error) {
	for {
		state, at, err := load(ctx, j, stream, evolve)
		if err != nil {
			return eventlog.Position{}, err
		}
		events, err := command.Decide(state)
		if err != nil {
			return eventlog.Position{}, err
		}
		if len(events) == 0 {
			return at.position, nil
		}
		proposed, err := encode(j.Registry, order, events)
		if err != nil {
			return eventlog.Position{}, err
		}
		appended, err := j.Log.Append(ctx, stream, at.revision, proposed)
		if conflict := new(eventlog.ConflictError); errors.As(err, &conflict) {
			continue
		}
		if err != nil {
			return eventlog.Position{}, fmt.Errorf("appending to %s: %w", stream, err)
		}
		return appended.Position, nil
	}
}

func encode[E any](registry *eventlog.Registry, order Order, events []E) ([]eventlog.Proposed, error) {
	boxed := make([]any, len(events))
	for i, event := range events {
		boxed[i] = event
	}
	proposed, err := registry.Encode(order.Command, 0, order.metadata(), boxed...)
	if err != nil {
		return nil, fmt.Errorf("encoding events: %w", err)
	}
	return proposed, nil
}

// place is where in its stream and in the log a state was read.
type place struct {
	revision eventlog.Revision
	position eventlog.Position
}

// load folds a whole stream. It is for streams that stay short.
func load[S, E any](ctx context.Context, j Journal, stream string, evolve func(S, E) S) (S, place, error) {
	var state S
	at := place{revision: eventlog.NoStream}
	for recorded, err := range j.Log.ReadStream(ctx, stream, 0) {
		if err != nil {
			return state, at, fmt.Errorf("reading %s: %w", stream, err)
		}
		event, err := decode[E](j.Registry, recorded)
		if err != nil {
			return state, at, err
		}
		state = evolve(state, event)
		at = place{revision: eventlog.Revision(recorded.Revision), position: recorded.Position}
	}
	return state, at, nil
}

func decode[E any](registry *eventlog.Registry, recorded eventlog.Recorded) (E, error) {
	var none E
	decoded, err := registry.Decode(recorded)
	if err != nil {
		return none, fmt.Errorf("decoding event %d of %s: %w", recorded.Revision, recorded.Stream, err)
	}
	event, ok := decoded.Event.(E)
	if !ok {
		return none, fmt.Errorf("event %d of %s is of type %s, which does not belong there", recorded.Revision, recorded.Stream, recorded.Type)
	}
	return event, nil
}

func systemOrder(command uuid.UUID, at time.Time) Order {
	return Order{Command: command, Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, At: at}
}
