package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/recital-tts/recital/internal/process/datafolder"
)

// Superuser is the database role that initdb creates, and Database the database that recitald uses.
const (
	Superuser = "recital"
	Database  = "recital"
)

// Init creates a new cluster in data, a path in an existing folder that the account can enter. It is created under
// another name and renamed, so that the result of an interrupted initdb is not mistaken for a cluster.
func (i Installation) Init(ctx context.Context, owner Account, data string) error {
	removeUnfinished(data)
	unfinished, err := os.MkdirTemp(filepath.Dir(data), filepath.Base(data)+unfinishedSuffix)
	if err != nil {
		return fmt.Errorf("making a folder for a new cluster: %w", err)
	}
	if err := i.initdb(ctx, owner, unfinished); err != nil {
		_ = os.RemoveAll(unfinished) // the error of initdb is more informative
		return err
	}
	if err := os.Rename(unfinished, data); err != nil {
		return fmt.Errorf("putting a new cluster in its place: %w", err)
	}
	return datafolder.Sync(filepath.Dir(data))
}

const unfinishedSuffix = ".unfinished-"

func removeUnfinished(data string) {
	leftovers, _ := filepath.Glob(data + unfinishedSuffix + "*")
	for _, leftover := range leftovers {
		_ = os.RemoveAll(leftover) // they only take up space
	}
}

func (i Installation) initdb(ctx context.Context, owner Account, folder string) error {
	if err := owner.Own(folder); err != nil {
		return fmt.Errorf("giving a new cluster to user %s: %w", owner.Name, err)
	}
	cmd := owner.Command(folder, i.path("initdb"), "--pgdata="+folder, "--username="+Superuser,
		"--encoding=UTF8", "--locale=C.UTF-8", "--lc-messages=C", "--data-checksums",
		"--auth-local=trust", "--auth-host=reject") // only the owner can enter the socket's folder
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting initdb as user %s: %w", owner.Name, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer stop()
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("making a new cluster: %w", ctx.Err())
		}
		return fmt.Errorf("making a new cluster as user %s: %w: %s", owner.Name, err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}

// Settings returns the server's options. They are on the command line, not in a file, so that the options of an earlier
// recitald's server can be compared with the current ones.
func Settings(data, socketDir string) []string {
	args := []string{"-D", data}
	for _, setting := range []string{
		"listen_addresses=", // only the unix socket
		"unix_socket_directories=" + socketDir,
		"unix_socket_permissions=0700",
		"fsync=on",
		"full_page_writes=on",
		"synchronous_commit=on", // projections disable it per transaction
		"max_connections=200",
		"shared_buffers=128MB",
		"timezone=UTC",
		"log_timezone=UTC",
		"cluster_name=recital",
		"jit=off", // pays only for long analytical queries
		// Texts of failed statements contain values from clients, so only messages of the server itself are logged.
		"log_min_messages=log",
		"log_min_error_statement=panic",
		"log_error_verbosity=terse",
		"log_checkpoints=off",
		"log_line_prefix=",
		"logging_collector=off",
	} {
		args = append(args, "-c", setting)
	}
	return args
}

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

// ErrNotInstalled means that this machine has no PostgreSQL server binaries.
var ErrNotInstalled = errors.New("no PostgreSQL server binaries found; install them (on Debian: apt-get install " +
	"postgresql) or set RECITAL_POSTGRES to the URL of a server")

// Installation is a folder with the server binaries of one PostgreSQL version.
type Installation struct {
	Bin   string // the folder of postgres and initdb
	Major int    // 15 of "15.18"
}

// Find returns the newest installation, or the one with a major version if major is not zero.
func Find(ctx context.Context, major int) (Installation, error) {
	return find(ctx, candidates(ctx), major)
}

func find(ctx context.Context, folders []string, major int) (Installation, error) {
	var found []Installation
	for i, folder := range folders {
		if slices.Contains(folders[:i], folder) { // most are found in several ways
			continue
		}
		if installation, ok := inspect(ctx, folder); ok {
			found = append(found, installation)
		}
	}
	if err := ctx.Err(); err != nil { // its end also stops the programs
		return Installation{}, fmt.Errorf("looking for PostgreSQL: %w", err)
	}
	if len(found) == 0 {
		return Installation{}, ErrNotInstalled
	}
	slices.SortStableFunc(found, func(a, b Installation) int { return b.Major - a.Major })
	if major == 0 {
		return found[0], nil
	}
	for _, installation := range found {
		if installation.Major == major {
			return installation, nil
		}
	}
	return Installation{}, fmt.Errorf("PostgreSQL %d is not installed (the newest here is %d); install it (on Debian: "+
		"apt-get install postgresql-%d)", major, found[0].Major, major)
}

// candidates returns the folders that may contain server binaries.
func candidates(ctx context.Context) []string {
	var folders []string
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(out)))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			folders = append(folders, filepath.Dir(real))
		}
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"} { // Debian, Red Hat
		matches, _ := filepath.Glob(pattern) // the patterns are well-formed
		folders = append(folders, matches...)
	}
	return folders
}

var versionPattern = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

// inspect reports whether folder contains a complete server: libpq's pg_config alone also points to a folder.
func inspect(ctx context.Context, folder string) (Installation, bool) {
	if _, err := os.Stat(filepath.Join(folder, "initdb")); err != nil {
		return Installation{}, false
	}
	out, err := exec.CommandContext(ctx, filepath.Join(folder, "postgres"), "--version").Output()
	if err != nil {
		return Installation{}, false
	}
	match := versionPattern.FindSubmatch(out)
	if match == nil {
		return Installation{}, false
	}
	major, err := strconv.Atoi(string(match[1]))
	return Installation{Bin: folder, Major: major}, err == nil
}

func (i Installation) path(program string) string { return filepath.Join(i.Bin, program) }
