// Package pglookup finds the accounts of API keys in the read model of accounts. It serves the keys that earlier releases
// created, until they have streams of their own.
package pglookup

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/credentials"
	"github.com/recital-tts/recital/internal/readmodel"
)

// Keys implements credentials.Unissued.
type Keys struct {
	Pool *pgxpool.Pool
	// Current reports whether the read model shows every key that was created before this instance started.
	Current func() bool
}

var (
	errSilent = domain.Refuse(domain.Unavailable, "The read models do not answer")
	errBehind = domain.Refuse(domain.Unavailable, "The read models are catching up")
)

var accountOf = "select " + readmodel.Columns[struct {
	Account string `col:"account_id"`
}](readmodel.APIKeysView, "") + " from " + readmodel.APIKeysView.SQL() + " where key_hash = $1"

// AccountOf implements credentials.Unissued. A revocation that the read model does not show yet does no harm, because the
// account's stream decides.
func (k Keys) AccountOf(ctx context.Context, hash string) (account string, err error) {
	current := k.Current() // before the query: what is current afterwards may not have been when the query ran
	err = k.Pool.QueryRow(ctx, accountOf, hash).Scan(&account)
	switch {
	case err == nil:
		return account, nil
	case !errors.Is(err, pgx.ErrNoRows):
		return "", fmt.Errorf("looking an API key up: %w", errors.Join(err, errSilent))
	case !current:
		return "", fmt.Errorf("looking an API key up: %w", errBehind)
	}
	return "", credentials.ErrUnknownKey
}
