// Package keyring makes sure that a log and a keyring belong together.
package keyring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/keyring"
	keys "github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Store is a keyring with an id.
type Store interface {
	// ID returns the keyring's id, or "" if it has none yet.
	ID(ctx context.Context) (string, error)
	// Identify gives the keyring an id, unless it has one, and returns its id.
	Identify(ctx context.Context, id string) (string, error)
	// Export writes a consistent copy of the keyring.
	Export(ctx context.Context, w io.Writer) error
	// Import imports all keys of a copy, or none. It erases those of closed accounts.
	Import(ctx context.Context, copied *keys.CopyReader, closed func(ctx context.Context, account string) (bool,
		error)) (keys.Imported, error)
}

// Keyring compares the keyring of a log with a store that should hold it.
type Keyring struct {
	journal *journal.Journal
	store   Store
	log     *slog.Logger
	now     func() time.Time
}

// New returns a Keyring that takes the time from now.
func New(j *journal.Journal, store Store, log *slog.Logger, now func() time.Time) *Keyring {
	return &Keyring{journal: j, store: store, log: log, now: now}
}

// IDs are the ids of the log's keyring and of the store's, "" for none.
type IDs struct{ Log, Store string }

// IDs returns both ids.
func (k *Keyring) IDs(ctx context.Context) (IDs, error) {
	state, _, err := journal.Load(ctx, k.journal, stream())
	if err != nil {
		return IDs{}, err
	}
	found, err := k.store.ID(ctx)
	return IDs{Log: state.Keyring, Store: found}, err
}

// OtherError means that a store does not hold the log's keyring.
type OtherError struct{ IDs }

// Error returns both ids.
func (e *OtherError) Error() string {
	found := "keyring " + e.Store
	if e.Store == "" {
		found = "an empty keyring"
	}
	return fmt.Sprintf("the log belongs to keyring %s, and there is %s", e.Log, found)
}

// Match checks that the store holds the log's keyring. A log without a keyring adopts the store's. Errors: OtherError.
func (k *Keyring) Match(ctx context.Context) error {
	state, _, err := journal.Load(ctx, k.journal, stream())
	if err != nil {
		return err
	}
	known := state.Keyring
	found, err := k.store.ID(ctx)
	switch {
	case err != nil:
		return err
	case found == known && known != "":
		return nil
	case known == "":
		return k.adopt(ctx, uuid.NewString())
	}
	return &OtherError{IDs{Log: known, Store: found}}
}

// adopt gives the store an id, unless it has one, and records it in the log.
func (k *Keyring) adopt(ctx context.Context, id string) error {
	id, err := k.store.Identify(ctx, id)
	if err != nil {
		return err
	}
	at := k.now().UTC()
	_, _, err = journal.Execute(ctx, k.journal, stream(), keyring.Adopt{Keyring: id, At: at},
		journal.System().Metadata(uuid.New(), at))
	return err
}

// Abandon replaces the log's keyring, given by its id, with the store's. Data that it sealed is lost. Repeating it has
// no effect. It refuses if the log has another keyring, and if the store holds the given one.
func (k *Keyring) Abandon(ctx context.Context, id string, by journal.Origin) (eventlog.Position, error) {
	ids, err := k.matched(ctx)
	if err != nil {
		return eventlog.Position{}, err
	}
	if ids.Store == "" && ids.Log == id { // the store is not changed before a refusal
		if ids.Store, err = k.store.Identify(ctx, uuid.NewString()); err != nil {
			return eventlog.Position{}, err
		}
	}
	at := k.now().UTC()
	command := keyring.Abandon{Keyring: id, Successor: ids.Store, At: at}
	_, position, err := journal.Execute(ctx, k.journal, stream(), command, by.Metadata(uuid.New(), at))
	if err == nil {
		k.log.WarnContext(ctx, "a keyring was abandoned; data that it sealed is lost", "keyring", id, "successor",
			ids.Store, "by", by.Actor.Name)
	}
	return position, err
}

// matched returns the ids, after giving the store one if it has none.
func (k *Keyring) matched(ctx context.Context) (IDs, error) {
	var other *OtherError
	if err := k.Match(ctx); err != nil && !errors.As(err, &other) {
		return IDs{}, err
	}
	return k.IDs(ctx)
}

func stream() journal.Stream[keyring.State, keyring.Event] {
	return journal.Stream[keyring.State, keyring.Event]{Name: keyring.Stream, Evolve: keyring.Evolve}
}
