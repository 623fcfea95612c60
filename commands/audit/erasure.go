package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Erasure is the progress of the erasure of a closed account. Times are zero for steps that are still to come.
type Erasure struct {
	Closed   time.Time
	Erased   time.Time // when its data was erased
	AgainAt  time.Time // when the erasure is due again, because of requests that were still running
	Repeated time.Time // when it was repeated; all requests had ended by then
	Key      time.Time // when its key was destroyed
	Left     []Left
}

// Left is the remaining number of one kind of an account's data.
type Left struct {
	What  string
	Count int64
}

// Complete reports whether no data is left, and none can appear later.
func (e Erasure) Complete() bool {
	for _, left := range e.Left {
		if left.Count > 0 {
			return false
		}
	}
	return !e.Repeated.IsZero() && !e.Key.IsZero()
}

// Stores count the data of an account.
type Stores struct {
	KeyDestroyed func(ctx context.Context, account string) (time.Time, error) // zero if it was not
	// Left counts the data of an account. Data newer than a time cannot belong to the account; the zero time is no
	// bound.
	Left func(ctx context.Context, account string, until time.Time) ([]Left, error)
}

// Erasure returns the progress of an account's erasure according to the log and the stores. Errors: domain.NotFound for
// an account that never existed.
func (a *Audit) Erasure(ctx context.Context, id string, stores Stores) (Erasure, error) {
	found, exists, err := a.closing(ctx, id)
	if err != nil {
		return Erasure{}, err
	}
	if !exists {
		return Erasure{}, account.ErrNoAccount
	}
	if found.Key, err = stores.KeyDestroyed(ctx, id); err != nil {
		return Erasure{}, err
	}
	found.Left, err = stores.Left(ctx, id, found.Repeated)
	return found, err
}

// closing reads the end of the account's stream: only consequences of the closing follow Closed.
func (a *Audit) closing(ctx context.Context, id string) (found Erasure, exists bool, err error) {
	for recorded, err := range a.journal.Log.ReadStreamBackwards(ctx, account.Stream(id)) {
		if err != nil {
			return found, false, err
		}
		decoded, err := a.journal.Registry.Decode(recorded)
		if err != nil {
			return found, false, fmt.Errorf("reading the end of an account: %w", unreadable(err))
		}
		exists = true
		switch e := decoded.Event.(type) {
		case account.ErasureRepeated:
			found.Repeated = e.At
		case account.Erased:
			found.Erased, found.AgainAt = e.At, e.AgainAt
		case account.Closed:
			found.Closed = e.At
			return found, true, nil
		case account.SnapshotTaken, eventlog.Skipped: // at any state of the account
		default:
			return found, true, nil
		}
	}
	return found, exists, nil
}

// Voices returns the ids of the voices that the roster of an account still has.
func (a *Audit) Voices(ctx context.Context, id string) (ids []string, err error) {
	state, _, err := journal.Load(ctx, a.journal, journal.Stream[roster.State, roster.Event]{Name: roster.Stream(id),
		Evolve: roster.Evolve})
	if err != nil {
		return nil, err
	}
	for _, place := range state.Places {
		ids = append(ids, place.Voice)
	}
	return ids, nil
}

// Variables returns the number of an account's API keys at the hosting platform, including those that are being set or
// removed there.
func (a *Audit) Variables(ctx context.Context, id string) (int64, error) {
	state, _, err := journal.Load(ctx, a.journal, journal.Stream[hosting.State, hosting.Event]{Name: hosting.Stream(id),
		Evolve: hosting.Evolve})
	return int64(len(state.Variables)), err
}
