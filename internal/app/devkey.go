package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/eventlog"
)

// operatorAccount is the account that the first start in dev mode opens. Its id is fixed, so that a start that was cut
// short is completed by the next one.
const operatorAccount = "operator"

const devKeyFile = "dev-api-key"

// openOperatorAccount makes sure, in dev mode, that the operator account exists with the key of the file. The file comes
// first: a key that was lost in a crash would open nothing. A key that was revoked stays so; once its file is deleted,
// the next start makes another one.
func (a *App) openOperatorAccount(ctx context.Context) error {
	if a.cfg.Mode == modeProd {
		return nil
	}
	key, err := a.fileOnce(devKeyFile, func() (string, error) { return account.DrawAPIKey(rand.Reader) })
	if err != nil {
		return err
	}
	if !account.WellFormedAPIKey(key) {
		return fmt.Errorf("%s holds no API key; delete it, and the next start makes a new one", a.cfg.path(devKeyFile))
	}
	position, err := a.accounts.Ensure(ctx, operatorAccount, string(plan.Enterprise), key, "first start")
	if errors.Is(err, account.ErrKeyRevoked) {
		a.log.Warn("the operator account's API key was revoked; delete its file and start again for a new one", "file", a.cfg.path(devKeyFile))
		return nil
	}
	if err != nil {
		return err
	}
	a.devKey = key
	return a.awaitRead(ctx, position)
}

func (a *App) awaitRead(ctx context.Context, position eventlog.Position) error {
	if err := a.projector.Wait(ctx, position, "account"); err != nil {
		return fmt.Errorf("waiting for the read model of accounts: %w", err)
	}
	return nil
}

// fileOnce is the content of a file of mode 0600 in the data folder, which is made when it is missing: written beside,
// flushed, then linked into place, so that it is whole or not there, and the first of two starts wins.
func (a *App) fileOnce(name string, content func() (string, error)) (string, error) {
	path := a.cfg.path(name)
	existing, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(existing)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	text, err := content()
	if err != nil {
		return "", fmt.Errorf("making %s: %w", name, err)
	}
	if err := a.writeOnce(path, text+"\n"); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("writing %s: %w", name, err)
	}
	final, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	return strings.TrimSpace(string(final)), nil
}

const unfinished = ".new-*"

// removeUnfinished removes what starts left that were killed while they wrote a secret.
func (a *App) removeUnfinished() error {
	left, err := filepath.Glob(a.cfg.path(unfinished))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing an unfinished file: %w", err)
		}
	}
	return nil
}

func (a *App) writeOnce(path, text string) error {
	temporary, err := os.CreateTemp(a.cfg.DataDir, unfinished) // 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.WriteString(text)
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(a.cfg.DataDir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
