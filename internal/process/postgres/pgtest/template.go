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

	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/migrations"
)

// templateDatabase is recitald's database, so that recitald can use a copy of the cluster, too.
const templateDatabase = postgres.Database

// templateSettings are appended to the configuration of the template. Shared memory in the cluster's folder is removed
// with it, while segments in /dev/shm would outlive a server that a test kills.
const templateSettings = "dynamic_shared_memory_type = mmap"

const templateAge = 24 * time.Hour // older templates of other migrations are removed

// workshop has the folder and the binaries for creating test clusters.
type workshop struct {
	binaries postgres.Installation
	account  postgres.Account
	home     string
	data     string // of the template: a stopped cluster with a migrated database
}

// openWorkshop creates the template if there is none yet for these binaries and migrations.
func openWorkshop() (w workshop, err error) {
	ctx := context.Background() // the template is for all tests of the binary
	if w.binaries, err = postgres.Find(ctx, 0); err != nil {
		return w, err
	}
	if w.account, err = postgres.Unprivileged(); err != nil {
		return w, err
	}
	if w.home, err = makeHome(w.account); err != nil {
		return w, err
	}
	template, err := makeTemplate(ctx, w.binaries, w.account, w.home)
	if err != nil {
		return w, fmt.Errorf("making the template of test clusters: %w", err)
	}
	w.data = filepath.Join(template, "data")
	return w, nil
}

// enter returns the server that the test binaries of a run share. It runs on a copy of the template, and is started by
// the first binary that needs it.
func enter() (*server, error) {
	ctx := context.Background() // the server is for all tests of the binary
	w, err := opened()
	if err != nil {
		return nil, err
	}
	unlock, err := lock(filepath.Join(w.home, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	running := filepath.Join(w.home, filepath.Base(filepath.Dir(w.data))+".running") // contains the folder of the server
	if folder, err := os.ReadFile(running); err == nil {
		if s, is := join(ctx, string(folder)); is {
			return s, nil
		}
	}
	s, err := launch(ctx, w.binaries, w.account, w.data, runFolder(w.home), sharedSettings...)
	if err != nil {
		return nil, err
	}
	return s, os.WriteFile(running, []byte(s.folder), 0o600)
}

// makeHome returns the folder of templates and running servers. It is never below t.TempDir(), which the server's
// account could not enter.
func makeHome(account postgres.Account) (string, error) {
	for _, parent := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if !account.CanEnter(parent) {
			continue
		}
		home := filepath.Join(parent, "recital-pg-"+strconv.Itoa(os.Geteuid()))
		if err := account.Own(home); err != nil {
			return "", fmt.Errorf("preparing %s: %w", home, err)
		}
		return home, account.Own(runFolder(home))
	}
	return "", fmt.Errorf("user %s can enter no folder for temporary files", account.Name)
}

// runFolder returns the folder of the running servers. All of them, including the one that makes the template, are
// directly in it, because Linux limits the path of their sockets to 107 bytes.
func runFolder(home string) string { return filepath.Join(home, "run") }

// makeTemplate returns a folder whose data is a stopped cluster with a migrated database.
func makeTemplate(
	ctx context.Context, binaries postgres.Installation, account postgres.Account, home string,
) (string, error) {
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
		return template, os.Chtimes(template, now, now) // prevents its removal as an old one
	}
	removeOld(home)
	return template, buildTemplate(ctx, binaries, account, home, template)
}

// buildTemplate uses a temporary path and renames it, so that a template is complete or absent.
func buildTemplate(
	ctx context.Context, binaries postgres.Installation, account postgres.Account, home, template string,
) error {
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
	if err := configure(data); err != nil {
		return err
	}
	server, err := launch(ctx, binaries, account, data, runFolder(home))
	if err != nil {
		return err
	}
	if err := migrate(ctx, server); err != nil {
		server.leave()
		return err
	}
	return server.keep(ctx, template)
}

func configure(data string) error {
	file, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, templateSettings)
	return errors.Join(err, file.Close())
}

func migrate(ctx context.Context, server *server) error {
	if err := server.exec(ctx, "create database "+templateDatabase); err != nil {
		return err
	}
	pool, err := postgres.NewPool(ctx, server.url(templateDatabase), "")
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
	if err := flock(file, syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}

func flock(file *os.File, how int) error {
	for {
		if err := syscall.Flock(int(file.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// templateName returns a name that depends on everything that the template depends on.
func templateName(binaries postgres.Installation) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, binaries, templateDatabase, templateSettings)
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
