// Package keyring sees that a log and a keyring belong together.
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

// Store is a keyring that has an id.
type Store interface {
	// ID returns the keyring's id, "" if it has none yet.
	ID(ctx context.Context) (string, error)
	// Identify gives the keyring an id, unless it has one, and returns the one that it has.
	Identify(ctx context.Context, id string) (string, error)
	// Export writes a copy of the keyring as it is at one moment.
	Export(ctx context.Context, w io.Writer) error
	// Import takes up all keys of a copy, or none. Those of accounts that are closed are erased.
	Import(ctx context.Context, copied *keys.CopyReader, closed func(ctx context.Context, account string) (bool,
		error)) (keys.Imported, error)
}

// Keyring is the log's side of the keyring, beside a store that should hold it.
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

// IDs are those of the log's keyring and of the store's, each "" where there is none.
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

// Match sees that the store holds the log's keyring. Where both are new, and where the log knows of none yet, the log
// learns the store's id. Errors: OtherError.
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

// adopt gives the store an id, unless it has one, and makes it known to the log.
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

// Abandon gives up the log's keyring, whose id the caller names, for the store's. What it sealed is lost. Doing so
// again has no effect. It is refused where the log has another keyring, and where the store holds it.
func (k *Keyring) Abandon(ctx context.Context, id string, by journal.Origin) (eventlog.Position, error) {
	ids, err := k.matched(ctx)
	if err != nil {
		return eventlog.Position{}, err
	}
	if ids.Store == "" && ids.Log == id { // what is refused leaves the store as it is
		if ids.Store, err = k.store.Identify(ctx, uuid.NewString()); err != nil {
			return eventlog.Position{}, err
		}
	}
	at := k.now().UTC()
	command := keyring.Abandon{Keyring: id, Successor: ids.Store, At: at}
	_, position, err := journal.Execute(ctx, k.journal, stream(), command, by.Metadata(uuid.New(), at))
	if err == nil {
		k.log.WarnContext(ctx, "a keyring was abandoned; what it sealed is lost", "keyring", id, "successor", ids.Store, "by",
			by.Actor.Name)
	}
	return position, err
}

// matched returns the ids once the store has the one that it lacks.
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
