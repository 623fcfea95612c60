package accounts

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// IssueProcess is the name of the to-do list of keys without a stream of their own, as earlier releases created them.
const IssueProcess = "issue_keys"

// KeyAccount returns the account that the key with a hash was issued to, "" where no stream of the key says so. Whether
// the key is valid is for the account's stream to say.
func (a *Accounts) KeyAccount(ctx context.Context, hash string) (string, error) {
	state, _, err := journal.Load(ctx, a.journal, keyStream(hash))
	return state.Account, err
}

// IssueCreated issues the key that an event of an account's stream created. It returns the position of the key's event.
func (a *Accounts) IssueCreated(ctx context.Context, accountStream string, created uuid.UUID) (eventlog.Position, error) {
	id := strings.TrimPrefix(accountStream, account.StreamPrefix)
	only := stream(id)
	only.Only = created
	state, _, err := journal.Load(ctx, a.journal, only)
	if err != nil {
		return eventlog.Position{}, err
	}
	if len(state.Keys) == 0 {
		return eventlog.Position{}, domain.Refuse(domain.NotFound, fmt.Sprintf("Event %s of %s created no API key", created, accountStream))
	}
	key := apikey.Issue{Hash: state.Keys[0].Hash, Account: id, At: a.now().UTC()}
	command := todo.CommandID(IssueProcess, created.String(), created)
	return a.issue(ctx, key, journal.CausedBy(created).Metadata(command, key.At))
}

func (a *Accounts) issue(ctx context.Context, key apikey.Issue, meta journal.Metadata) (eventlog.Position, error) {
	_, position, err := journal.Execute(ctx, a.journal, keyStream(key.Hash), key, meta)
	return position, err
}

func issue(key, id string, at time.Time) apikey.Issue {
	return apikey.Issue{Hash: account.HashAPIKey(key), Account: id, At: at}
}

func keyStream(hash string) journal.Stream[apikey.State, apikey.Event] {
	return journal.Stream[apikey.State, apikey.Event]{Name: apikey.Stream(hash), Evolve: apikey.Evolve}
}
