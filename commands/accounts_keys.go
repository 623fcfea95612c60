package commands

import (
	"context"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/eventlog"
)

// RevokeKey ends an API key of an account, given in its masked form. Errors: domain.NotFound.
func (a *Accounts) RevokeKey(ctx context.Context, id, masked string, actor eventlog.Actor) (eventlog.Position, error) {
	order := a.order(actor)
	revoke := account.RevokeAPIKey{Masked: masked, At: order.At}
	return execute(ctx, a.journal, accountStream(id), account.Evolve, revoke, order)
}

// State is an account as its stream tells now, and the revision of the last event that it tells of.
func (a *Accounts) State(ctx context.Context, id string) (account.State, eventlog.Revision, error) {
	state, at, err := load(ctx, a.journal, accountStream(id), account.Evolve)
	return state, at.revision, err
}
