package pgtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/recital-tts/recital/internal/postgres"
	"github.com/recital-tts/recital/migrations"
)

const (
	templateDatabase = "recital_template"
	templateAge      = 24 * time.Hour // older templates of other migrations are removed
)

// start makes the template when there is none yet for these binaries and migrations, and a server on a copy of it.
func start() (*server, error) {
	ctx := context.Background() // the server is for all tests of the binary
	binaries, err := postgres.Find(ctx, 0)
	if err != nil {
		return nil, err
	}
	account, err := postgres.Unprivileged()
	if err != nil {
		return nil, err
	}
	home, err := makeHome(account)
	if err != nil {
		return nil, err
	}
	template, err := makeTemplate(ctx, binaries, account, home)
	if err != nil {
		return nil, fmt.Errorf("making the template of test clusters: %w", err)
	}
	return launch(ctx, binaries, account, filepath.Join(template, "data"), filepath.Join(home, "run"))
}

// makeHome returns the folder of templates and running servers. It is never below t.TempDir(), which the account of
// the server could not enter.
func makeHome(account postgres.Account) (string, error) {
	for _, parent := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if !account.CanEnter(parent) {
			continue
		}
		home := filepath.Join(parent, "recital-pgtest-"+strconv.Itoa(os.Geteuid()))
		if err := account.Own(home); err != nil {
			return "", fmt.Errorf("preparing %s: %w", home, err)
		}
		return home, account.Own(filepath.Join(home, "run"))
	}
	return "", fmt.Errorf("user %s can enter no folder for temporary files", account.Name)
}

// makeTemplate returns a folder whose data holds a stopped cluster with a migrated database.
func makeTemplate(ctx context.Context, binaries postgres.Installation, account postgres.Account, home string) (string, error) {
	name, err := templateName(binaries)
	if err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(home, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	template := filepath.Join(home, name)
	if _, err := os.Stat(template); err == nil {
		now := time.Now()
		return template, os.Chtimes(template, now, now) // keeps it from being removed as old
	}
	removeOld(home)
	return template, buildTemplate(ctx, binaries, account, home, template)
}

// buildTemplate works beside the final place and renames, so that a template is whole or not there.
func buildTemplate(ctx context.Context, binaries postgres.Installation, account postgres.Account, home, template string) error {
	unfinished, err := os.MkdirTemp(home, "unfinished-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	if err := account.Own(unfinished); err != nil {
		return err
	}
	data := filepath.Join(unfinished, "data")
	if err := binaries.Init(ctx, account, data); err != nil {
		return err
	}
	server, err := launch(ctx, binaries, account, data, unfinished)
	if err != nil {
		return err
	}
	if err := migrate(ctx, server); err != nil {
		server.discard()
		return err
	}
	if err := server.keep(); err != nil {
		return err
	}
	return os.Rename(server.folder, template)
}

func migrate(ctx context.Context, server *server) error {
	if err := server.exec(ctx, "create database "+templateDatabase); err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, server.url(templateDatabase))
	if err != nil {
		return err
	}
	defer pool.Close()
	return migrations.Up(ctx, pool)
}

func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, file.Close())
		}
	}
}

// templateName changes with whatever the template depends on.
func templateName(binaries postgres.Installation) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, binaries)
	err := fs.WalkDir(migrations.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := migrations.Files.ReadFile(path)
		fmt.Fprintf(hash, "%s %d\n%s", path, len(content), content)
		return err
	})
	return fmt.Sprintf("template-%x", hash.Sum(nil)[:8]), err
}

func removeOld(home string) {
	for _, pattern := range []string{"template-*", "unfinished-*"} {
		folders, _ := filepath.Glob(filepath.Join(home, pattern))
		for _, folder := range folders {
			if info, err := os.Stat(folder); err == nil && time.Since(info.ModTime()) > templateAge {
				_ = os.RemoveAll(folder)
			}
		}
	}
}
