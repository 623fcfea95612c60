package postgres

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Superuser is the database role that initdb creates, and Database the database that recitald uses.
const (
	Superuser = "recital"
	Database  = "recital"
)

// Init creates a new cluster in data, a path in an existing folder that the account can enter. It is created under
// another name and renamed, so that an interrupted initdb leaves nothing that looks like a cluster.
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
	return syncFolder(filepath.Dir(data))
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

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// Settings returns the server's options. They are on the command line, not in a file, so that those of a server which
// an earlier recitald left behind can be compared with the current ones.
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
		// Texts of failed statements contain values from clients: only messages of the server itself are logged.
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
