package installed

import (
	"context"
	"errors"

	"github.com/recital-tts/recital/internal/speech"
)

// tenant is a listener's places, until its context ends.
type tenant struct {
	turn  chan struct{} // has an element while a job of the listener takes a place
	holds map[*share]bool
}

// tenant returns a listener's tenant after waiting for its turn. The error is the context's.
func (e *Engines) tenant(ctx context.Context, listener *speech.Listener) (*tenant, error) {
	e.mu.Lock()
	t, known := e.tenants[listener]
	if !known {
		t = &tenant{turn: make(chan struct{}, 1), holds: map[*share]bool{}}
		e.tenants[listener] = t
		context.AfterFunc(ctx, func() { e.forget(listener) })
	}
	e.mu.Unlock()
	select {
	case t.turn <- struct{}{}:
		return t, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// forget gives the places of a listener back.
func (e *Engines) forget(listener *speech.Listener) {
	e.mu.Lock()
	t := e.tenants[listener]
	delete(e.tenants, listener)
	e.mu.Unlock()
	t.turn <- struct{}{} // it is never released
	e.leave(t, listener)
}

func (e *Engines) leave(t *tenant, listener *speech.Listener) {
	for s := range t.holds {
		e.places.give(s, listener.Account)
	}
	clear(t.holds)
}

// Admit implements speech.InstalledEngines.
func (e *Engines) Admit(ctx context.Context, id string) bool {
	running, found := e.engine(id)
	listener := speech.ListenerOf(ctx)
	if !found || listener == nil {
		e.passedOn.Add(1)
		return false
	}
	return e.take(ctx, listener, running.model.share, func(*tenant) error {
		e.passedOn.Add(1)
		return speech.ErrEngineBusy
	}) == nil
}

// admit waits for a place, without a time limit if a part of the text has been spoken. A listener that waits for a
// place holds no other one, which excludes deadlocks.
func (e *Engines) admit(ctx context.Context, listener *speech.Listener, s *share, first bool) error {
	return e.take(ctx, listener, s, func(t *tenant) error {
		e.leave(t, listener)
		return e.wait(ctx, listener, s, first)
	})
}

// take takes a place, unless the listener has one. If none is free, otherwise waits for it or returns an error.
func (e *Engines) take(
	ctx context.Context, listener *speech.Listener, s *share, otherwise func(t *tenant) error,
) error {
	t, err := e.tenant(ctx, listener)
	if err != nil {
		return err
	}
	defer func() { <-t.turn }()
	if t.holds[s] {
		return nil
	}
	if !e.places.try(s, listener.Account) {
		if err := otherwise(t); err != nil {
			return err
		}
	}
	t.holds[s] = true
	e.streamed.Add(1)
	return nil
}

func (e *Engines) wait(ctx context.Context, listener *speech.Listener, s *share, first bool) error {
	patience := e.config.Patience
	if !first {
		patience = 0
	}
	e.waiting.Add(1)
	defer e.waiting.Add(-1)
	err := e.places.wait(ctx, s, listener.Account, first, patience)
	if errors.Is(err, speech.ErrEngineBusy) {
		e.refused.Add(1)
	}
	return err
}
