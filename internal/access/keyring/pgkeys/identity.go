package pgkeys

import "context"

// ID returns the id of the keyring, "" if it has none yet, and whether it holds any key or tombstone.
func (k *Keyring) ID(ctx context.Context) (id string, keys bool, err error) {
	query := `select coalesce((select id from keyring.identity), ''), exists (select from keyring.account_keys)`
	if err := k.pool.QueryRow(ctx, query).Scan(&id, &keys); err != nil {
		return "", false, failed(ctx, "reading the id of the keyring", err)
	}
	return id, keys, nil
}

// Identify gives the keyring an id, unless it has one, and returns the one that it has.
func (k *Keyring) Identify(ctx context.Context, id string) (string, error) {
	err := k.durably(ctx, "writing the id of the keyring", `insert into keyring.identity (id) values ($1) on conflict (single) do nothing`, id)
	if err != nil {
		return "", err
	}
	id, _, err = k.ID(ctx)
	return id, err
}
