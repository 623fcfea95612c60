package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// NewKey is a key that was just created. The key is not stored, so that this is the only time at which it is known.
type NewKey struct {
	Key      string
	Masked   string
	Position eventlog.Position
}

// CreateKey draws a key and adds it to an account. Errors: domain.NotFound, domain.Denied if there are too many, the
// errors of the keyring.
func (a *Accounts) CreateKey(ctx context.Context, id, name string, origin journal.Origin) (NewKey, error) {
	for {
		key, err := account.DrawAPIKey(a.random)
		if err != nil {
			return NewKey{}, err
		}
		position, err := a.addNamed(ctx, id, key, name, origin)
		if domain.CodeOf(err) == domain.Conflict && ctx.Err() == nil {
			continue // another key looks the same when masked
		}
		if err != nil {
			return NewKey{}, err
		}
		return NewKey{Key: key, Masked: account.MaskAPIKey(key), Position: position}, nil
	}
}

// AddKey adds a key that the caller has drawn to an account. Errors: domain.NotFound, domain.Invalid for an invalid
// name, domain.Denied if there are too many, domain.Conflict if another key has the same masked form, the errors of the
// keyring.
func (a *Accounts) AddKey(ctx context.Context, id, key, name string, origin journal.Origin) error {
	_, err := a.addNamed(ctx, id, key, name, origin)
	return err
}

// DropKey ends the key with a hash, if the account has it.
func (a *Accounts) DropKey(ctx context.Context, id, hash string, origin journal.Origin) error {
	_, err := a.execute(ctx, id, func(at time.Time) command { return account.DropAPIKey{Hash: hash, At: at} }, origin)
	return err
}

// HasKey reports whether an account has the key with a hash.
func (a *Accounts) HasKey(ctx context.Context, id, hash string) (bool, error) {
	state, _, err := a.State(ctx, id)
	return state.HasKey(hash), err
}

// RenameKey renames an API key of an account, given in its masked form. Errors: domain.Invalid for an invalid name,
// domain.NotFound, the errors of the keyring.
func (a *Accounts) RenameKey(
	ctx context.Context, id, masked, name string, origin journal.Origin,
) (eventlog.Position, error) {
	rename := account.RenameAPIKey{Masked: masked, Name: name, At: a.now().UTC()}
	kept := journal.NewCached(a.journal, stream(id))
	if err := kept.Refresh(ctx); err != nil {
		return eventlog.Position{}, err
	}
	key, err := kept.State().Key(masked)
	if err != nil {
		return eventlog.Position{}, err
	}
	if rename.SealedName, err = a.sealKeyName(ctx, id, key, name); err != nil {
		return eventlog.Position{}, err
	}
	_, position, err := kept.Execute(ctx, rename, origin.Metadata(uuid.New(), rename.At))
	return position, err
}

// sealKeyName seals a name for a key. If the name is unchanged, it returns the former ciphertext, so that it is not
// recorded again.
func (a *Accounts) sealKeyName(ctx context.Context, id string, key account.Key, name string) ([]byte, error) {
	use := account.ForKeyName(key.Hash)
	if len(key.SealedName) > 0 {
		current, err := a.keys.Open(ctx, id, key.SealedName, use)
		if err != nil && !keyring.Gone(err) {
			return nil, fmt.Errorf("opening the name of an API key: %w", err)
		}
		if err == nil && string(current) == name {
			return key.SealedName, nil
		}
	}
	sealed, err := a.keys.Seal(ctx, id, []byte(name), use)
	if errors.Is(err, keyring.ErrErased) {
		return nil, account.ErrClosed
	}
	if err != nil {
		return nil, fmt.Errorf("sealing the name of an API key: %w", err)
	}
	return sealed, nil
}

// RevokeKey revokes an API key of an account, given in its masked form. Errors: domain.NotFound.
func (a *Accounts) RevokeKey(ctx context.Context, id, masked string, origin journal.Origin) (eventlog.Position, error) {
	return a.execute(ctx, id, func(at time.Time) command { return account.RevokeAPIKey{Masked: masked, At: at} }, origin)
}

// addNamed adds a key with a name to an account; name is "" for none.
func (a *Accounts) addNamed(
	ctx context.Context, id, key, name string, origin journal.Origin,
) (eventlog.Position, error) {
	add := create(key, a.now().UTC())
	add.Name = name
	if name != "" {
		var err error
		if add.SealedName, err = a.sealKeyName(ctx, id, account.Key{Hash: add.Hash}, name); err != nil {
			return eventlog.Position{}, err
		}
	}
	return a.addKey(ctx, stream(id), issue(key, id, add.At), origin, add)
}

// addKey executes commands that add a key to an account, in one append, after issuing the key to the account. A crash
// between the two leaves an issued key that is not valid. If the account refuses a command, the key is not issued.
func (a *Accounts) addKey(
	ctx context.Context, s accountStream, key apikey.Issue, origin journal.Origin, commands ...command,
) (eventlog.Position, error) {
	all := journal.Sequence[account.State, account.Event]{Evolve: account.Evolve, Commands: commands}
	kept := journal.NewCached(a.journal, s)
	if !s.New {
		if err := kept.Refresh(ctx); err != nil {
			return eventlog.Position{}, err
		}
	}
	if _, err := all.Decide(kept.State()); err != nil {
		return eventlog.Position{}, err
	}
	if err := a.issue(ctx, key, s.New, origin.Metadata(uuid.New(), key.At)); err != nil {
		return eventlog.Position{}, err
	}
	_, position, err := kept.Execute(ctx, all, origin.Metadata(uuid.New(), key.At))
	return position, err
}

func create(key string, at time.Time) account.CreateAPIKey {
	return account.CreateAPIKey{Hash: account.HashAPIKey(key), Masked: account.MaskAPIKey(key), At: at}
}
