package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/process/postgres"
)

// startPatience is the time limit of a start. It is long, to end only a start that cannot succeed.
const startPatience = 2 * time.Minute

// runServer copies a cluster and runs the server on it until no process has a lease. Then it removes everything,
// beginning with the file of the leases, so that no process takes another one. The shell is the server's parent, and
// neither receives signals of the terminal, so that everything is cleaned up even if test binaries are killed.
const runServer = `
cluster=$1 folder=$2 postgres=$3; shift 3
if cp -a "$cluster" "$folder/data"; then
	"$postgres" "$@" </dev/null &
	server=$!
fi
flock --exclusive "$folder/lease" rm "$folder/lease"
[ -z "$server" ] || { kill -QUIT "$server" 2>/dev/null; wait "$server"; }
rm -rf "$folder"
`

// sharedSettings override recitald's settings: the shared server serves many concurrent tests, and its data does not
// outlive it.
var sharedSettings = []string{"-c", "max_connections=1000", "-c", "fsync=off", "-c", "full_page_writes=off"}

// server is a PostgreSQL server that runs while any process has a lease of it.
type server struct {
	folder string   // contains data, lease, log and the socket
	lease  *os.File // the lease of this process; it ends with the process
}

// launch starts a server on a copy of a cluster, in a new folder below parent, with recitald's and further settings.
func launch(
	ctx context.Context, binaries postgres.Installation, account postgres.Account, cluster, parent string, more ...string,
) (*server, error) {
	folder, err := os.MkdirTemp(parent, "")
	if err != nil {
		return nil, err
	}
	if err := account.Own(folder); err != nil {
		return nil, err
	}
	s := &server{folder: folder}
	if s.lease, err = newLease(folder); err != nil {
		return nil, err
	}
	settings := append(postgres.Settings(filepath.Join(folder, "data"), folder), more...)
	shell := account.Command(folder, "/bin/sh", append([]string{"-c", runServer, "sh",
		cluster, folder, filepath.Join(binaries.Bin, "postgres")}, settings...)...)
	if err := s.start(shell); err != nil {
		return nil, fmt.Errorf("starting PostgreSQL: %w", err)
	}
	if err := s.awaitReady(ctx); err != nil {
		s.leave()
		return nil, err
	}
	return s, nil
}

// join takes a lease of the server in folder, and reports whether it is running.
func join(ctx context.Context, folder string) (*server, bool) {
	lease, err := takeLease(filepath.Join(folder, "lease"))
	if err != nil {
		return nil, false
	}
	s := &server{folder: folder, lease: lease}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := s.exec(ctx, "select"); err != nil {
		s.leave()
		return nil, false
	}
	return s, true
}

// newLease creates the file of the leases, readable by the server's account, and takes the first one.
func newLease(folder string) (*os.File, error) {
	path := filepath.Join(folder, "lease")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o644); err != nil { // regardless of the umask
		return nil, err
	}
	return takeLease(path)
}

// takeLease fails if the server has stopped or is about to stop.
func takeLease(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := flock(file, syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if _, err := os.Stat(path); err != nil { // it was removed before it was locked
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func (s *server) start(shell *exec.Cmd) error {
	log, err := os.Create(s.logFile())
	if err != nil {
		return err
	}
	defer log.Close()
	shell.Stdout, shell.Stderr = log, log
	return shell.Start()
}

func (s *server) logFile() string { return filepath.Join(s.folder, "log") }

func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		err := s.exec(ctx, "select")
		if err == nil {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			log, _ := os.ReadFile(s.logFile())
			return fmt.Errorf("the server did not start: %w; its log:\n\t%s", err, quoteLines(log))
		}
	}
}

// leave ends the lease. The server stops if it was the last one.
func (s *server) leave() { _ = s.lease.Close() }

// keep stops the server with all data on disk, moves its folder, and ends the lease.
func (s *server) keep(ctx context.Context, folder string) error {
	defer s.leave()
	lockFile := filepath.Join(s.folder, "data", "postmaster.pid") // the server removes it at its very end
	content, err := os.ReadFile(lockFile)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		return fmt.Errorf("stopping PostgreSQL: %w", err)
	}
	for {
		if _, err := os.Stat(lockFile); err != nil {
			return os.Rename(s.folder, folder)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// endCluster waits for the end of its input. Then it stops the server of a cluster, if it is still running, and
// removes the folders in its arguments.
const endCluster = `
cluster=$1 remove=$2
read -r _
pid=$(head -n 1 "$cluster/data/postmaster.pid" 2>/dev/null)
serves() { [ -n "$pid" ] && [ "$(readlink "/proc/$pid/cwd")" = "$(readlink -f "$cluster/data")" ]; }
if serves; then
	kill -QUIT "$pid"
	while serves; do sleep 0.05; done
fi
[ -z "$remove" ] || rm -rf "$remove"
`

// ClusterDir returns the path of a folder for a private cluster (postgres.StartCluster) that the user of a server may
// enter, unlike t.TempDir(). When the test or the test binary has ended, in any way, a server still running there is
// stopped and the folder removed.
func ClusterDir(t testing.TB) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "recital-cluster-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(parent, 0o711))
	dir := filepath.Join(parent, "postgres")
	guard(t, dir, parent)
	return dir
}

// DataDir returns the path of a recitald's data folder with a migrated cluster, which saves the longest part of a first
// start. The folder is removed like ClusterDir's.
func DataDir(t testing.TB) string {
	t.Helper()
	w, err := opened()
	require.NoError(t, err)
	cluster := ClusterDir(t)
	folder, err := datafolder.Open(filepath.Dir(cluster)) // recitald refuses an unmarked folder with a cluster
	if err == nil {
		err = folder.Close()
	}
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(cluster, 0o711))
	if output, err := exec.Command("cp", "-a", w.data, filepath.Join(cluster, "data")).CombinedOutput(); err != nil {
		t.Fatalf("pgtest: copying the template: %v: %s", err, output)
	}
	return folder.Dir()
}

// Guard is ClusterDir for a folder that is kept: it stops the server of the private cluster in dir when the test or the
// test binary has ended. A killed recitald leaves its server to the next one, which a test does not have.
func Guard(t testing.TB, dir string) {
	t.Helper()
	guard(t, dir, "")
}

func guard(t testing.TB, dir, remove string) {
	t.Helper()
	shell := exec.Command("/bin/sh", "-c", endCluster, "sh", dir, remove)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := shell.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, shell.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = shell.Wait() // its exit code only reports whether there was something to do
	})
}
