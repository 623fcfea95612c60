package voices

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/todo"
)

// EraseProcess is the name of the to-do list of deleted voices of which something is left.
const EraseProcess = "erase_voice"

// Delete deletes a voice of an account, and ends what is being done to make it. The to-do process EraseProcess removes its blobs.
// Errors: domain.NotFound; domain.Denied for a system voice.
func (v *Voices) Delete(ctx context.Context, account, id string, origin journal.Origin) (eventlog.Position, error) {
	if err := requireOwn(id); err != nil {
		return eventlog.Position{}, err
	}
	position, err := v.delete(ctx, account, id, origin)
	if err != nil {
		return eventlog.Position{}, err
	}
	freed, err := v.free(ctx, account, id, false, origin)
	if err != nil { // the to-do frees it
		v.Logger.WarnContext(ctx, "the place of a deleted voice is left to the to-do", "voice", id, "error", err)
		return position, nil
	}
	return later(position, freed), nil
}

func (v *Voices) delete(ctx context.Context, account, id string, origin journal.Origin) (eventlog.Position, error) {
	_, position, err := v.do(ctx, id, voice.Delete{Account: account, At: v.now()}, origin)
	if err != nil {
		return eventlog.Position{}, err
	}
	v.preparing.cancel(id)
	v.training.cancel(id)
	v.bells.ring(id)
	return position, nil
}

// Erase removes the blobs of a deleted voice, frees its place, and withdraws its star. It may be repeated. What somebody who did
// not know of the deletion stores afterwards is swept.
func (v *Voices) Erase(ctx context.Context, id string, cause uuid.UUID) (eventlog.Position, error) {
	origin := journal.CausedBy(cause)
	state, position, err := v.load(ctx, id)
	if err != nil || !state.Deleted || state.Erased {
		return position, err
	}
	for blob, err := range v.Blobs.List(ctx, owner(id).Prefix()) {
		if err == nil {
			err = v.Blobs.Delete(ctx, blob.Address)
		}
		if err != nil {
			return eventlog.Position{}, fmt.Errorf("erasing a voice: %w", err)
		}
	}
	if _, err := v.free(ctx, state.Account, id, false, origin); err != nil {
		return eventlog.Position{}, err
	}
	_, position, err = v.do(ctx, id, voice.RecordErasure{At: v.now()}, origin)
	return position, err
}

// EndFor sees to it that an account which is closed gets no further voice. It may be repeated.
func (v *Voices) EndFor(ctx context.Context, account string) error {
	at := v.now()
	end := roster.End{Account: account, At: at}
	_, _, err := journal.Execute(ctx, v.Journal, rosterOf(account), rosterCommand(end), journal.System().Metadata(uuid.New(), at))
	return err
}

const (
	erasedAtOnce = 8
	// erasureTurn is how long the voices of one account are erased before it is the turn of others.
	erasureTurn = 5 * time.Second
)

// EraseFor deletes and erases the voices of an account that is closed, after EndFor. It returns a *todo.NotYetError as long as
// some are left.
func (v *Voices) EraseFor(ctx context.Context, account string) error {
	state, _, err := journal.Load(ctx, v.Journal, rosterOf(account))
	if err != nil {
		return err
	}
	erasing, all := errgroup.WithContext(ctx)
	erasing.SetLimit(erasedAtOnce)
	end := time.Now().Add(erasureTurn)
	left := false
	for _, place := range state.Places {
		if left = time.Now().After(end); left {
			break
		}
		erasing.Go(func() error { return v.eraseOne(all, account, place.Voice) })
	}
	if err := erasing.Wait(); err != nil {
		return fmt.Errorf("erasing voices: %w", err)
	}
	if left {
		return &todo.NotYetError{}
	}
	return nil
}

func (v *Voices) eraseOne(ctx context.Context, account, id string) error {
	cause := journal.DeriveID(id, "closing")
	if _, err := v.delete(ctx, account, id, journal.CausedBy(cause)); err != nil && domain.CodeOf(err) != domain.NotFound {
		return err
	}
	if _, err := v.SettlePlace(ctx, account, id, cause); err != nil { // it may never have been created
		return err
	}
	_, err := v.Erase(ctx, id, cause)
	return err
}
