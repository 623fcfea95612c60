package pgtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/recital-tts/recital/internal/process/postgres"
)

// startPatience is generous: it only ends a start that will never succeed.
const startPatience = 2 * time.Minute

// runServer copies a cluster and runs the server on it until its input ends; then it removes everything. The shell is
// the server's parent, and neither receives signals of the terminal, so nothing is left behind when the test binary
// is killed.
const runServer = `
cluster=$1 folder=$2 postgres=$3; shift 3
if cp -a "$cluster" "$folder/data"; then
	"$postgres" "$@" </dev/null &
	server=$!
fi
read -r wish
if [ "$wish" = keep ]; then
	kill -INT "$server" && wait "$server"
	exit
fi
[ -z "$server" ] || { kill -QUIT "$server"; wait "$server"; }
rm -rf "$folder"
`

// server is a PostgreSQL server that runs until it is stopped or this process ends.
type server struct {
	folder  string // contains data, log and the socket
	shell   *exec.Cmd
	input   io.WriteCloser // its end stops the server; the server runs as long as this is referenced
	logFile string
}

// launch starts a server on a copy of a cluster, in a new folder below parent.
func launch(ctx context.Context, binaries postgres.Installation, account postgres.Account, cluster, parent string) (*server, error) {
	folder, err := os.MkdirTemp(parent, "")
	if err != nil {
		return nil, err
	}
	if err := account.Own(folder); err != nil {
		return nil, err
	}
	s := &server{folder: folder, logFile: filepath.Join(folder, "log")}
	settings := append(postgres.Settings(filepath.Join(folder, "data"), folder), "-c", "shared_buffers=32MB")
	s.shell = account.Command(folder, "/bin/sh", append([]string{"-c", runServer, "sh",
		cluster, folder, filepath.Join(binaries.Bin, "postgres")}, settings...)...)
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("starting PostgreSQL: %w", err)
	}
	if err := s.awaitReady(ctx); err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

func (s *server) start() error {
	log, err := os.Create(s.logFile)
	if err != nil {
		return err
	}
	defer log.Close()
	s.shell.Stdout, s.shell.Stderr = log, log
	if s.input, err = s.shell.StdinPipe(); err != nil {
		return err
	}
	return s.shell.Start()
}

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
			log, _ := os.ReadFile(s.logFile)
			return fmt.Errorf("the server did not start: %w; its log:\n\t%s", err, quoteLines(log))
		}
	}
}

// discard stops the server and removes its folder.
func (s *server) discard() {
	_ = s.input.Close()
	_ = s.shell.Wait()
}

// keep stops the server with all data on disk and keeps its folder.
func (s *server) keep() error {
	if _, err := io.WriteString(s.input, "keep\n"); err != nil {
		return fmt.Errorf("stopping PostgreSQL: %w", err)
	}
	if err := s.shell.Wait(); err != nil {
		return fmt.Errorf("stopping PostgreSQL: %w", err)
	}
	return nil
}
