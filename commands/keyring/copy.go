package keyring

import (
	"context"
	"fmt"
	"io"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	keys "github.com/recital-tts/recital/internal/access/keyring"
)

// Export returns a function that writes a copy of the log's keyring, with wrapped keys. It refuses if the store has
// another keyring.
func (k *Keyring) Export(ctx context.Context) (write func(context.Context, io.Writer) error, err error) {
	ids, err := k.IDs(ctx)
	if err != nil {
		return nil, err
	}
	if ids.Log == "" || ids.Log != ids.Store {
		return nil, domain.Refuse(domain.Rejected, "Postgres does not hold the log's keyring")
	}
	return k.store.Export, nil
}

// Import imports the keys of a copy of the log's keyring, all or none. Keys that were erased since the copy stay
// erased: the log knows the closed accounts, and their keys become tombstones before they can be used. Importing again
// has no effect. Errors: domain.Rejected if the copy is incomplete or of another keyring.
func (k *Keyring) Import(ctx context.Context, from io.Reader) (keys.Imported, error) {
	copied, err := keys.NewCopyReader(from)
	if err != nil {
		return keys.Imported{}, fmt.Errorf("importing the keyring: %w", err)
	}
	state, _, err := journal.Load(ctx, k.journal, stream())
	if err != nil {
		return keys.Imported{}, err
	}
	if state.Keyring != copied.ID {
		return keys.Imported{}, domain.Refuse(domain.Rejected,
			fmt.Sprintf("The copy is of keyring %s, and the log belongs to %s", copied.ID, state.Keyring))
	}
	done, err := k.store.Import(ctx, copied, k.closed)
	if err == nil {
		k.log.WarnContext(ctx, "the keyring was imported from a copy", "keyring", copied.ID, "keys", done.Keys, "erased",
			done.Erased)
	}
	return done, err
}

// closed reports whether an account was closed. An owner of a key that is no account was not.
func (k *Keyring) closed(ctx context.Context, id string) (bool, error) {
	return journal.Happened[account.Event](ctx, k.journal, account.Stream(id), account.Closed{}, account.ClosedInSnapshot)
}
