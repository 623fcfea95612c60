package voices

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// EraseProcess is the name of the to-do list of deleted voices that are to be erased.
const EraseProcess = "erase_voice"

// Delete deletes a voice of an account, and stops the work on it. The to-do process EraseProcess removes its blobs.
// Errors: domain.NotFound; domain.Denied for a system voice.
func (v *Voices) Delete(ctx context.Context, account, id string, origin journal.Origin) (eventlog.Position, error) {
	if err := v.requireOwn(id); err != nil {
		return eventlog.Position{}, err
	}
	position, err := v.delete(ctx, account, id, origin)
	if err != nil {
		return eventlog.Position{}, err
	}
	freed, err := v.free(ctx, account, []string{id}, false, origin)
	if err != nil { // EraseProcess frees it
		v.Logger.WarnContext(ctx, "the place of a deleted voice is left to the to-do", "voice", id, "error", err)
		return position, nil
	}
	return journal.Later(position, freed), nil
}

func (v *Voices) delete(ctx context.Context, account, id string, origin journal.Origin) (eventlog.Position, error) {
	_, position, err := v.do(ctx, id, voice.Delete{Account: account, At: v.now()}, origin)
	if err != nil {
		return eventlog.Position{}, err
	}
	v.stopMaking(id)
	return position, nil
}

// stopMaking stops this instance's work on a deleted voice.
func (v *Voices) stopMaking(id string) {
	v.preparing.cancel(id)
	v.training.cancel(id)
}

// Erase removes the blobs of a deleted voice, frees its place, and withdraws its star. It can be repeated. Blobs that
// an instance stores afterwards, unaware of the deletion, are swept.
func (v *Voices) Erase(ctx context.Context, id string, cause uuid.UUID) (eventlog.Position, error) {
	origin := journal.CausedBy(cause)
	state, position, err := v.load(ctx, id)
	if err != nil || !state.Deleted || state.Erased {
		return position, err
	}
	if err := v.removeBlobs(ctx, id); err != nil {
		return eventlog.Position{}, err
	}
	if _, err := v.free(ctx, state.Account, []string{id}, false, origin); err != nil {
		return eventlog.Position{}, err
	}
	_, position, err = v.do(ctx, id, voice.RecordErasure{At: v.now()}, origin)
	return position, err
}

func (v *Voices) removeBlobs(ctx context.Context, id string) error {
	for blob, err := range v.Blobs.List(ctx, owner(id).Prefix()) {
		if err == nil {
			err = v.Blobs.Delete(ctx, blob.Address)
		}
		if err != nil {
			return fmt.Errorf("erasing a voice: %w", err)
		}
	}
	return nil
}

// EndFor makes sure that a closed account gets no further voice. It can be repeated.
func (v *Voices) EndFor(ctx context.Context, account string) error {
	at := v.now()
	end := roster.End{Account: account, At: at}
	_, _, err := journal.Execute(ctx, v.Journal, rosterOf(account), rosterCommand(end),
		journal.System().Metadata(uuid.New(), at))
	return err
}

const (
	erasedAtOnce = 8
	// erasedInTurn and erasureTurn bound the number of voices and the time of one account's turn. The places of a turn are
	// freed in one append, possibly with a snapshot of 10,000 places, so that the account's own streams are not read for
	// each voice.
	erasedInTurn = 100
	erasureTurn  = 5 * time.Second
)

// EraseFor deletes and erases the voices of a closed account, and withdraws its stars, after EndFor. It returns a
// *todo.NotYetError while some are left.
func (v *Voices) EraseFor(ctx context.Context, account string) error {
	state, _, err := journal.Load(ctx, v.Journal, rosterOf(account))
	if err != nil {
		return err
	}
	erased, err := v.eraseSome(ctx, account, state.Places[:min(erasedInTurn, len(state.Places))])
	if err != nil {
		return err
	}
	if _, err := v.free(ctx, account, append(erased, v.Catalogue.IDs()...), false, journal.System()); err != nil {
		return err
	}
	if len(erased) < len(state.Places) {
		return &todo.NotYetError{}
	}
	return nil
}

// eraseSome ends voices until the turn is over, and returns their ids.
func (v *Voices) eraseSome(ctx context.Context, account string, places []roster.Place) (ids []string, err error) {
	erasing, all := errgroup.WithContext(ctx)
	erasing.SetLimit(erasedAtOnce)
	end := time.Now().Add(erasureTurn)
	for _, place := range places {
		if time.Now().After(end) {
			break
		}
		ids = append(ids, place.Voice)
		erasing.Go(func() error { return v.eraseOne(all, account, place.Voice) })
	}
	if err := erasing.Wait(); err != nil {
		return nil, fmt.Errorf("erasing voices: %w", err)
	}
	return ids, nil
}

// eraseOne records the end of a voice in one append, so that it is never on the list of EraseProcess, which would free
// its place by itself.
func (v *Voices) eraseOne(ctx context.Context, account, id string) error {
	v.stopMaking(id)
	if err := v.removeBlobs(ctx, id); err != nil {
		return err
	}
	end := voice.End{Voice: id, Account: account, At: v.now()}
	_, _, err := v.do(ctx, id, end, journal.CausedBy(journal.DeriveID(id, "closing")))
	return err
}
