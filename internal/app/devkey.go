package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// operatorAccount is the account that the first start in dev mode opens. Its id is fixed, so that a start that was cut
// short is completed by the next one.
const operatorAccount = "operator"

const devKeyFile = "dev-api-key"

// openOperatorAccount makes sure, in dev mode, that the operator account exists with the key of the file. The file
// comes first: a key that was lost in a crash would open nothing. A key that was revoked stays so; once its file is
// deleted, the next start makes another one. An account that was closed stays so, too.
func (a *App) openOperatorAccount(ctx context.Context) error {
	if a.cfg.Mode == modeProd {
		return nil
	}
	key, err := a.folder.FileOnce(devKeyFile, func() (string, error) { return account.DrawAPIKey(rand.Reader) })
	if err != nil {
		return err
	}
	if !account.WellFormedAPIKey(key) {
		return fmt.Errorf("%s holds no API key; delete it, and the next start makes a new one", a.folder.Path(devKeyFile))
	}
	position, err := a.accounts.Ensure(ctx, operatorAccount, string(plan.Enterprise), key)
	switch {
	case errors.Is(err, accounts.ErrKeyRevoked):
		a.noDevKey = "was revoked; delete " + a.folder.Path(devKeyFile) + " and start again for a new one"
	case errors.Is(err, account.ErrClosed):
		a.noDevKey = "ended when the operator account was closed; recitalctl accounts create opens another account"
	case eventlog.IsUndecodable(err):
		a.noDevKey = "cannot be used, because an event of the operator account cannot be read; recitalctl projections parked list shows it"
	case err != nil:
		return err
	}
	if a.noDevKey != "" {
		a.log.Warn("the operator account's API key " + a.noDevKey)
		return nil
	}
	a.devKey = key
	select {
	case <-a.database:
		return a.awaitRead(ctx, position)
	default:
		return nil
	}
}

// readTimeout is how long a start waits for the read model of accounts, so that the API key that it prints can be used.
const readTimeout = 10 * time.Second

// awaitRead waits until the read model of accounts shows a position. One that is being built, or stands still before an
// event that an operator must look at, is no reason not to start.
func (a *App) awaitRead(ctx context.Context, position eventlog.Position) error {
	brief, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := a.projector.Wait(brief, position, readmodel.Account); err != nil && ctx.Err() == nil {
		a.log.WarnContext(ctx, "the read model of accounts is behind; recitalctl projections list shows how far it has come", "error", err)
	}
	return ctx.Err()
}
