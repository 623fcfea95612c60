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
	"github.com/recital-tts/recital/internal/web"
)

// authenticator looks API keys up by their hash.
type authenticator struct{ pool *pgxpool.Pool }

const keyQuery = `
select k.account_id, k.masked, a.plan
from read_v1.api_keys k join read_v1.accounts a on a.account_id = k.account_id
where k.key_hash = $1`

// APIKey implements web.Authenticator. What cannot be a key is refused without a look-up.
func (a authenticator) APIKey(ctx context.Context, key string) (web.Principal, error) {
	if !account.WellFormedAPIKey(key) {
		return web.Principal{}, errInvalidKey
	}
	var principal web.Principal
	var planType string
	err := a.pool.QueryRow(ctx, keyQuery, account.HashAPIKey(key)).Scan(&principal.Account, &principal.Key, &planType)
	if errors.Is(err, pgx.ErrNoRows) {
		return web.Principal{}, errInvalidKey
	}
	if err != nil {
		return web.Principal{}, fmt.Errorf("looking an API key up: %w", errors.Join(err, errReadModels))
	}
	principal.Operator = principal.Account == operatorAccount && plan.Type(planType) == plan.Enterprise
	return principal, nil
}

var (
	errInvalidKey = domain.Refuse(domain.Unauthenticated, "Invalid API key")
	errReadModels = domain.Refuse(domain.Unavailable, "The read models do not answer")
)
