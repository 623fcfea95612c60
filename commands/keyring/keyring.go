// Package keyring sees that a log and a keyring belong together.
package keyring

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/keyring"
)

// Store is a keyring that has an id.
type Store interface {
	// ID returns the keyring's id, "" if it has none yet, and whether it holds any key.
	ID(ctx context.Context) (id string, keys bool, err error)
	// Identify gives the keyring an id, unless it has one, and returns the one that it has.
	Identify(ctx context.Context, id string) (string, error)
}

// Keyring is the log's side of the keyring.
type Keyring struct {
	journal *journal.Journal
	log     *slog.Logger
	now     func() time.Time
}

// New returns a Keyring that takes the time from now.
func New(j *journal.Journal, log *slog.Logger, now func() time.Time) *Keyring {
	return &Keyring{journal: j, log: log, now: now}
}

// OtherError means that a store does not hold the log's keyring.
type OtherError struct {
	Known string // id of the log's keyring
	Found string // id of the store's, "" if it has none
}

// Error returns both ids.
func (e *OtherError) Error() string {
	found := "keyring " + e.Found
	if e.Found == "" {
		found = "an empty keyring"
	}
	return fmt.Sprintf("the log belongs to keyring %s, and there is %s", e.Known, found)
}

// Match sees that a store holds the log's keyring. Where both are new, and where the log knows of none yet, the log learns
// the store's id. Abandoned is the id of a keyring that may be given up for the store's, "" if none may be; by is who says
// so. Errors: OtherError.
func (k *Keyring) Match(ctx context.Context, store Store, abandoned string, by journal.Origin) error {
	known, err := k.known(ctx)
	if err != nil {
		return err
	}
	found, keys, err := store.ID(ctx)
	switch {
	case err != nil:
		return err
	case found == known && known != "":
		return nil
	case known == "":
		return k.adopt(ctx, store, uuid.NewString())
	case found == "" && keys: // it was restored from a time at which keyrings had no ids
		k.log.WarnContext(ctx, "the keyring is of an earlier release and gets the id that the log knows", "keyring", known)
		return k.adopt(ctx, store, known)
	case abandoned != known:
		return &OtherError{Known: known, Found: found}
	}
	return k.abandon(ctx, store, known, by)
}

func (k *Keyring) known(ctx context.Context) (string, error) {
	state, _, err := journal.Load(ctx, k.journal, stream())
	return state.Keyring, err
}

// adopt gives a store an id, unless it has one, and makes it known to the log.
func (k *Keyring) adopt(ctx context.Context, store Store, id string) error {
	id, err := store.Identify(ctx, id)
	if err != nil {
		return err
	}
	at := k.now().UTC()
	_, _, err = journal.Execute(ctx, k.journal, stream(), keyring.Adopt{Keyring: id, At: at}, journal.System().Metadata(uuid.New(), at))
	return err
}

func (k *Keyring) abandon(ctx context.Context, store Store, known string, by journal.Origin) error {
	successor, err := store.Identify(ctx, uuid.NewString())
	if err != nil {
		return err
	}
	at := k.now().UTC()
	command := keyring.Abandon{Keyring: known, Successor: successor, At: at}
	if _, _, err = journal.Execute(ctx, k.journal, stream(), command, by.Metadata(uuid.New(), at)); err != nil {
		return err
	}
	k.log.WarnContext(ctx, "a keyring was abandoned; what it sealed is lost", "keyring", known, "successor", successor, "by", by.Actor.Name)
	return nil
}

func stream() journal.Stream[keyring.State, keyring.Event] {
	return journal.Stream[keyring.State, keyring.Event]{Name: keyring.Stream, Evolve: keyring.Evolve}
}
