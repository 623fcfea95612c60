package pgkeys

import "context"

// ID returns the id of the keyring, "" if it has none yet.
func (k *Keyring) ID(ctx context.Context) (id string, err error) {
	if err := k.pool.QueryRow(ctx, `select coalesce((select id from keyring.identity), '')`).Scan(&id); err != nil {
		return "", failed(ctx, "reading the id of the keyring", err)
	}
	return id, nil
}

// Identify gives the keyring an id, unless it has one, and returns the one that it has.
func (k *Keyring) Identify(ctx context.Context, id string) (string, error) {
	err := k.durably(ctx, "writing the id of the keyring",
		`insert into keyring.identity (id) values ($1) on conflict (single) do nothing`, id)
	if err != nil {
		return "", err
	}
	return k.ID(ctx)
}
