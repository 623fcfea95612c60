package accounts

import (
	"context"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// NewAccount is an account that was just opened.
type NewAccount struct {
	Account string
	Key     NewKey
}

// Open opens an account on a plan with a first key, in one append: no account exists without its key. Errors:
// domain.Invalid for an unknown plan.
func (a *Accounts) Open(ctx context.Context, planType string, origin journal.Origin) (NewAccount, error) {
	id, at := NewAccountID(), a.now().UTC()
	key, err := account.DrawAPIKey(a.random)
	if err != nil {
		return NewAccount{}, err
	}
	drawn := stream(id)
	drawn.New = true // the key has no stream either: neither is read
	position, err := a.addKey(ctx, drawn, issue(key, id, at), origin,
		account.Open{Account: id, Plan: plan.Type(planType), At: at}, create(key, at))
	if err != nil {
		return NewAccount{}, err
	}
	return NewAccount{Account: id, Key: NewKey{Key: key, Masked: account.MaskAPIKey(key), Position: position}}, nil
}

// OpenFor opens the free account of a person who signs in, without an API key. free is the period of the person's
// closed account. Repeating it has no effect in any state of the account. Errors: domain.Conflict if the account is
// another person's, account.ErrClosed.
func (a *Accounts) OpenFor(
	ctx context.Context, id, identity string, free *account.FreePeriod, origin journal.Origin,
) (eventlog.Position, error) {
	return a.execute(ctx, id, func(at time.Time) command {
		return account.Open{Account: id, Plan: plan.Free, Identity: identity, FreePeriod: free, At: at}
	}, origin)
}

// ErrKeyRevoked refuses a key that was revoked. It stays revoked.
var ErrKeyRevoked error = domain.Refuse(domain.Denied, "The API key was revoked")

// Ensure makes sure that an account with this id, plan and key exists. A new account has the role of an operator. It
// has no effect if the account has the key, so that a caller that stores the key can repeat it after a crash. Errors:
// ErrKeyRevoked, account.ErrClosed.
func (a *Accounts) Ensure(ctx context.Context, id, planType, key string) (eventlog.Position, error) {
	at, hash := a.now().UTC(), account.HashAPIKey(key)
	state, _, err := a.State(ctx, id)
	if err != nil {
		return eventlog.Position{}, err
	}
	if !state.Closed() && !state.HasKey(hash) {
		revoked, _, err := journal.Load(ctx, a.journal, revocation(id, hash))
		if err != nil {
			return eventlog.Position{}, err
		}
		if revoked {
			return eventlog.Position{}, ErrKeyRevoked
		}
	}
	open := account.OpenOperator{Open: account.Open{Account: id, Plan: plan.Type(planType), At: at}, By: "recitald"}
	return a.addKey(ctx, stream(id), issue(key, id, at), journal.System(), open, create(key, at))
}

// revocation returns the stream of an account, folded into whether it has revoked a key. The account's state does not
// have revoked keys, because only a caller that stores its key can add it again.
func revocation(id, hash string) journal.Stream[bool, account.Event] {
	revokes := func(event account.Event) bool {
		e, is := event.(account.APIKeyRevoked)
		return is && e.Hash == hash
	}
	return journal.Stream[bool, account.Event]{
		Name: account.Stream(id), IsSnapshot: revokes,
		Evolve: func(revoked bool, event account.Event) bool { return revoked || revokes(event) },
	}
}
