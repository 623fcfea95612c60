package pgkeys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/keyring"
)

// Export writes a consistent copy of the keyring. The keys in it stay wrapped. Memory is bounded for any number of
// keys.
func (k *Keyring) Export(ctx context.Context, w io.Writer) error {
	err := pgx.BeginTxFunc(ctx, k.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			var id string
			if err := tx.QueryRow(ctx, `select id from keyring.identity`).Scan(&id); err != nil {
				return err
			}
			out, err := keyring.NewCopyWriter(w, id)
			if err != nil {
				return err
			}
			rows, err := tx.Query(ctx, `
			select account_id, wrapped_key, master_key_id, created_at, erased_at from keyring.account_keys order by account_id`)
			if err != nil {
				return err
			}
			var key keyring.CopiedKey
			if _, err := pgx.ForEachRow(rows, []any{&key.Account, &key.Wrapped, &key.Master, &key.Created, &key.Erased},
				func() error {
					return out.Write(key)
				}); err != nil {
				return err
			}
			return out.End()
		})
	if err != nil {
		return failed(ctx, "copying the keyring", err)
	}
	return nil
}

// Import imports all keys of a copy, or none. A key of an account that closed reports as closed becomes a tombstone.
// Present keys are kept, but tombstones win. Importing a copy again has no effect. Errors: keyring.ErrCopy; closed's;
// domain.Rejected if the copy comes from another keyring, or was wrapped by another master key.
func (k *Keyring) Import(
	ctx context.Context, copied *keyring.CopyReader, closed func(ctx context.Context, account string) (bool, error),
) (done keyring.Imported, err error) {
	err = pgx.BeginTxFunc(ctx, k.pool, pgx.TxOptions{BeginQuery: "begin; set local synchronous_commit = on"},
		func(tx pgx.Tx) error {
			if err := k.claim(ctx, tx, copied.ID); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx,
				`create temporary table incoming (like keyring.account_keys including indexes) on commit drop`); err != nil {
				return err
			}
			source := &importing{ctx: ctx, keyring: k, from: copied, closed: closed}
			columns := []string{"account_id", "wrapped_key", "master_key_id", "created_at", "erased_at"}
			if _, err := tx.CopyFrom(ctx, pgx.Identifier{"incoming"}, columns, source); source.err != nil || err != nil {
				return errors.Join(source.err, err)
			}
			done = source.done
			_, err := tx.Exec(ctx, `
			insert into keyring.account_keys as k select * from incoming
			on conflict (account_id) do update set wrapped_key = null, erased_at = excluded.erased_at
			where excluded.wrapped_key is null and k.wrapped_key is not null`)
			return err
		})
	k.cache.Purge()
	var ours *importError
	switch {
	case errors.As(err, &ours):
		return keyring.Imported{}, ours.err
	case err != nil:
		return keyring.Imported{}, failed(ctx, "importing the keyring", err)
	}
	return done, nil
}

// importError is an error of the copy, as opposed to the database.
type importError struct{ err error }

func (e *importError) Error() string { return e.err.Error() }

// claim gives an empty keyring the id of a copy. It holds up other imports until the transaction ends.
func (k *Keyring) claim(ctx context.Context, tx pgx.Tx, id string) error {
	var keys bool
	if err := tx.QueryRow(ctx, `select exists (select from keyring.account_keys)`).Scan(&keys); err != nil {
		return err
	}
	if !keys {
		_, err := tx.Exec(ctx,
			`insert into keyring.identity (id) values ($1) on conflict (single) do update set id = excluded.id`, id)
		return err
	}
	var found string
	err := tx.QueryRow(ctx, `select id from keyring.identity for update`).Scan(&found)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if found != id {
		return &importError{domain.Refuse(domain.Rejected, "Postgres holds keys of another keyring than the copy's")}
	}
	return nil
}

// importing is a copy as the source of rows.
type importing struct {
	ctx     context.Context
	keyring *Keyring
	from    *keyring.CopyReader
	closed  func(ctx context.Context, account string) (bool, error)
	row     keyring.CopiedKey
	done    keyring.Imported
	err     error
}

// Next implements pgx.CopyFromSource.
func (i *importing) Next() bool {
	row, err := i.from.Next()
	if errors.Is(err, io.EOF) {
		return false
	}
	if err == nil {
		err = i.admit(&row)
	}
	if err != nil {
		i.err = &importError{fmt.Errorf("importing the keyring: %w", err)}
		return false
	}
	i.row = row
	i.done.Keys++
	return true
}

// admit checks that a key can be unwrapped, and destroys the key of a closed account.
func (i *importing) admit(row *keyring.CopiedKey) error {
	if row.Erased != nil {
		return nil
	}
	if row.Master != i.keyring.masterID {
		return domain.Refuse(domain.Rejected, "Another master key wrapped the keys of the copy; recitald needs the file of "+
			"that one (RECITAL_MASTER_KEY_FILE)")
	}
	if _, err := i.keyring.unwrap(row.Account, row.Wrapped); err != nil {
		return err
	}
	closed, err := i.closed(i.ctx, row.Account)
	if err != nil || !closed {
		return err
	}
	now := time.Now()
	row.Wrapped, row.Erased = nil, &now
	i.done.Erased++
	return nil
}

// Values implements pgx.CopyFromSource.
func (i *importing) Values() ([]any, error) {
	return []any{i.row.Account, i.row.Wrapped, i.row.Master, i.row.Created, i.row.Erased}, nil
}

// Err implements pgx.CopyFromSource.
func (i *importing) Err() error { return i.err }
