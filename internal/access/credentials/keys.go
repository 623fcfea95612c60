package credentials

import (
	"context"
	"slices"
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
)

// FindKey returns the API key with a hash. A key that was revoked more than Config.Lease ago is not found. The key's
// own stream leads to the account, and the account's stream decides. Errors: ErrUnknownKey; domain.Unavailable when
// neither the cache may be used nor the log answers.
func (w *Watcher) FindKey(ctx context.Context, hash string) (Verified, error) {
	if found, ok := w.cached(ctx, apikey.Stream(hash)); ok {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	id, err := w.cfg.Accounts.KeyAccount(ctx, hash)
	if err != nil {
		return Verified{}, failed("an API key", err)
	}
	w.noteSilence(time.Time{}) // it has answered
	if id == "" {
		return Verified{}, ErrUnknownKey
	}
	return w.readKey(ctx, id, hash)
}

// readKey looks for a key in the stream of an account.
func (w *Watcher) readKey(ctx context.Context, id, hash string) (Verified, error) {
	stream := account.Stream(id)
	r := w.begin(stream)
	state, revision, err := w.cfg.Accounts.State(ctx, id)
	i := slices.IndexFunc(state.Keys, func(k account.Key) bool { return k.Hash == hash })
	switch {
	case err != nil:
		w.end(r, nil)
		return Verified{}, failed("an API key", err)
	case w.cfg.Unconfirmed(stream):
		w.end(r, nil)
		return Verified{}, errUnconfirmed
	case i < 0 || state.Closed():
		w.end(r, nil)
		return Verified{}, ErrUnknownKey
	}
	found := Verified{Credential: Credential{Account: id, Kind: APIKey, Name: state.Keys[i].Masked},
		Entitlement: state.Entitlement, Operator: state.Operator}
	w.end(r, &entry{Verified: found, key: apikey.Stream(hash), read: []version{{stream, revision}}})
	return found, nil
}
