package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/revocation"
	"github.com/recital-tts/recital/internal/web"
)

// authenticator looks API keys up by their hash.
type authenticator struct{ keys *revocation.Watcher }

// APIKey implements web.Authenticator. What cannot be a key is refused without a look-up.
func (a authenticator) APIKey(ctx context.Context, key string) (web.Principal, error) {
	if !account.WellFormedAPIKey(key) {
		return web.Principal{}, revocation.ErrUnknownKey
	}
	found, err := a.keys.Find(ctx, account.HashAPIKey(key))
	if err != nil {
		return web.Principal{}, err
	}
	return web.Principal{
		Account:  found.Account,
		Key:      found.Masked,
		Plan:     string(found.Plan),
		Operator: found.Account == operatorAccount && found.Plan == plan.Enterprise,
	}, nil
}

// owners finds accounts in the read model. A revocation that it does not show yet does no harm: the account's stream is
// asked after it.
type owners struct{ pool *pgxpool.Pool }

var errReadModels = domain.Refuse(domain.Unavailable, "The read models do not answer")

// OwnerOf implements revocation.Owners.
func (o owners) OwnerOf(ctx context.Context, hash string) (owner string, err error) {
	err = o.pool.QueryRow(ctx, "select account_id from read_v1.api_keys where key_hash = $1", hash).Scan(&owner)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", revocation.ErrUnknownKey
	}
	if err != nil {
		return "", fmt.Errorf("looking an API key up: %w", errors.Join(err, errReadModels))
	}
	return owner, nil
}
