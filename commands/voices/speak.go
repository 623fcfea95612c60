package voices

import (
	"context"
	"errors"
	"fmt"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/cloning"
)

// Refusals of voices that cannot speak.
var (
	errNotReady error = domain.Refuse(domain.Conflict, "The voice is not ready yet")
	errBroken   error = domain.Refuse(domain.Rejected, "The voice is broken; delete it, and create another one")

	errModel = errors.New("the model of a voice has another hash than recorded")
)

// opened is a voice that is open for speaking. The holder of turn uses its fields.
type opened struct {
	turn   chan struct{}
	stream *journal.Cached[voice.State, voice.Event]
	model  voice.Model // from which voice follows
	voice  speech.Voice
}

// Speaking returns the current version of a voice for an account: the system's, or the account's, whichever instance
// has changed it. Errors: domain.NotFound for a voice that the account does not have, or has deleted; domain.Conflict
// for one that is not ready yet; domain.Rejected for one that never will be; domain.Unavailable.
func (v *Voices) Speaking(ctx context.Context, account, id string) (speech.Voice, error) {
	if system, found := v.Catalogue.Lookup(id); found {
		return system, nil
	}
	if !voice.ValidID(id) {
		return speech.Voice{}, voice.ErrNotFound
	}
	o := v.open(id)
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return speech.Voice{}, context.Cause(ctx)
	}
	defer func() { <-o.turn }()
	if err := o.stream.Refresh(ctx); err != nil {
		return speech.Voice{}, err
	}
	state := o.stream.State()
	if err := speaks(state, account); err != nil {
		if !state.Exists() { // ids that clients invent take no room
			v.opened.Remove(id)
		}
		return speech.Voice{}, err
	}
	if o.model != state.Model {
		opened, err := v.openModel(ctx, state)
		if err != nil {
			return speech.Voice{}, err
		}
		o.voice, o.model = opened, state.Model
	}
	return o.voice, nil
}

func speaks(s voice.State, account string) error {
	if err := s.RequireOf(account); err != nil {
		return err
	}
	switch {
	case s.Unfinished():
		return errNotReady
	case s.Phase != voice.Speaking:
		return errBroken
	}
	return nil
}

// open returns the shared opened voice.
func (v *Voices) open(id string) *opened {
	if known, found := v.opened.Get(id); found {
		return known
	}
	o := &opened{turn: make(chan struct{}, 1), stream: journal.NewCached(v.Journal, streamOf(id))}
	if known, found, _ := v.opened.PeekOrAdd(id, o); found {
		return known
	}
	return o
}

// openModel reads the model of a voice, and checks its hash.
func (v *Voices) openModel(ctx context.Context, s voice.State) (speech.Voice, error) {
	data, err := v.read(ctx, s.Account, s.Model.Blob, cloning.MaxModelBytes)
	if err != nil {
		return speech.Voice{}, fmt.Errorf("reading the model of a voice: %w", explainKeys(err))
	}
	if hashOf(data) != s.Model.SHA256 {
		return speech.Voice{}, errModel
	}
	opened, err := v.Cloner.Open(cloning.Model{Engine: s.Model.Engine, Data: data})
	if err != nil {
		return speech.Voice{}, fmt.Errorf("opening the model of a voice: %w", err)
	}
	opened.ID = s.Voice
	return opened, nil
}
