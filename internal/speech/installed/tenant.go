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
	t, err := e.tenant(ctx, listener)
	if err != nil {
		return false
	}
	defer func() { <-t.turn }()
	if s := running.model.share; !t.holds[s] {
		if !e.places.try(s, listener.Account) {
			e.passedOn.Add(1)
			return false
		}
		t.holds[s] = true
		e.streamed.Add(1)
	}
	return true
}

// admit waits for a place, without a time limit if a part of the text has been spoken. A listener that waits for a
// place holds no other one, which excludes deadlocks.
func (e *Engines) admit(ctx context.Context, listener *speech.Listener, s *share, first bool) error {
	t, err := e.tenant(ctx, listener)
	if err != nil {
		return err
	}
	defer func() { <-t.turn }()
	if t.holds[s] {
		return nil
	}
	if !e.places.try(s, listener.Account) {
		e.leave(t, listener)
		if err := e.wait(ctx, listener, s, first); err != nil {
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
