package app

import (
	"fmt"
	"log/slog"
	"syscall"
)

// ownFiles is what recitald has open beside the connections of clients, generously.
const ownFiles = 1024

// leastFiles is with what recitald, its Postgres and its workers start and serve a few clients.
const leastFiles = 256

// requireFiles refuses a limit of open files with which a part would fail later, in words that name none.
func requireFiles(connections int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= leastFiles {
		return nil
	}
	return fmt.Errorf("the limit of open files is %d: at least %d are needed, and %d for RECITAL_CONNECTIONS=%d; raise it (ulimit -n, LimitNOFILE)",
		limit.Cur, leastFiles, connections+ownFiles, connections)
}

// warnOfFiles logs when there cannot be a file for each connection that is permitted. Go has raised the soft limit to
// the hard one before. Without a file connections wait, and idle ones are closed.
func warnOfFiles(log *slog.Logger, connections int) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return // nothing is known
	}
	if needed := uint64(connections + ownFiles); limit.Cur < needed {
		log.Warn("the limit of open files is too low for RECITAL_CONNECTIONS: raise it (ulimit -n, LimitNOFILE), or set fewer connections",
			"limit", limit.Cur, "needed", needed)
	}
}
