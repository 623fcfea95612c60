package accounts

import (
	"context"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
)

// KeyAccount returns the account of the key with a hash, or "" for a key that was never issued. The account's stream
// decides whether the key is valid.
func (a *Accounts) KeyAccount(ctx context.Context, hash string) (string, error) {
	state, _, err := journal.Load(ctx, a.journal, keyStream(hash))
	return state.Account, err
}

// issue issues a key. If drawn, the key has no stream yet.
func (a *Accounts) issue(ctx context.Context, key apikey.Issue, drawn bool, meta journal.Metadata) error {
	s := keyStream(key.Hash)
	s.New = drawn
	_, _, err := journal.Execute(ctx, a.journal, s, key, meta)
	return err
}

func issue(key, id string, at time.Time) apikey.Issue {
	return apikey.Issue{Hash: account.HashAPIKey(key), Account: id, At: at}
}

func keyStream(hash string) journal.Stream[apikey.State, apikey.Event] {
	return journal.Stream[apikey.State, apikey.Event]{Name: apikey.Stream(hash), Evolve: apikey.Evolve}
}
