package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// Account is the operating-system user of a cluster: PostgreSQL refuses to run as root.
type Account struct {
	Name    string
	uid     uint32
	gid     uint32
	foreign bool // not the user of this process
}

// Unprivileged returns the user of this process, or for root the user postgres, else nobody. A bare uid is not
// sufficient: PostgreSQL looks up its user's name.
func Unprivileged() (Account, error) {
	if os.Geteuid() != 0 {
		return lookup(strconv.Itoa(os.Geteuid()))
	}
	for _, name := range []string{"postgres", "nobody"} {
		if entry, err := user.Lookup(name); err == nil {
			return account(entry)
		}
	}
	return Account{}, errors.New("root may not run PostgreSQL, and this machine has neither a user postgres nor a user " +
		"nobody")
}

// ownerOf returns the account that owns an existing data folder. Root runs a cluster as the user that created it.
func ownerOf(info os.FileInfo) (Account, error) {
	owner, err := lookup(strconv.FormatUint(uint64(info.Sys().(*syscall.Stat_t).Uid), 10))
	if err != nil {
		return Account{}, err
	}
	if owner.foreign && os.Geteuid() != 0 {
		return Account{}, fmt.Errorf("it belongs to user %s: start as that user or as root", owner.Name)
	}
	if owner.uid == 0 {
		return Account{}, errors.New("it belongs to root, whom PostgreSQL does not serve: chown it to the user postgres")
	}
	return owner, nil
}

func lookup(uid string) (Account, error) {
	entry, err := user.LookupId(uid)
	if err != nil {
		return Account{}, fmt.Errorf("PostgreSQL needs a user with an entry in the password file: %w", err)
	}
	return account(entry)
}

func account(entry *user.User) (Account, error) {
	uid, err := strconv.ParseUint(entry.Uid, 10, 32)
	if err != nil {
		return Account{}, fmt.Errorf("reading the user id of %s: %w", entry.Username, err)
	}
	gid, err := strconv.ParseUint(entry.Gid, 10, 32)
	if err != nil {
		return Account{}, fmt.Errorf("reading the group id of %s: %w", entry.Username, err)
	}
	return Account{Name: entry.Username, uid: uint32(uid), gid: uint32(gid), foreign: int(uid) != os.Geteuid()}, nil
}

// Command returns a command that runs as the account in a folder, in a process group of its own, so that a Ctrl-C in
// the terminal does not reach it. It does not inherit this process's environment, which may contain secrets.
func (a Account) Command(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a.foreign {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return cmd
}

// Own creates a folder that only the account can enter. It may exist, unless it belongs to another user.
func (a Account) Own(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", folder)
	}
	switch owner := int(info.Sys().(*syscall.Stat_t).Uid); owner {
	case int(a.uid):
	case os.Geteuid():
		if err := os.Lchown(folder, int(a.uid), int(a.gid)); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s belongs to another user (id %d)", folder, owner)
	}
	if info.Mode().Perm() == 0o700 {
		return nil
	}
	return os.Chmod(folder, 0o700)
}

// CanEnter reports whether the account can traverse all parents of a folder and enter it.
func (a Account) CanEnter(folder string) bool {
	return a.Command(folder, "/bin/sh", "-c", ":").Run() == nil
}
