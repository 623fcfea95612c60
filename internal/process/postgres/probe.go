package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recital-tts/recital/internal/process/procfs"
)

// A server that leaves probeLimit probes in a row unanswered is replaced: on a machine that is merely slow, one of
// them is answered. Connections that exist would not notice that the postmaster hangs, or that its socket is gone.
const (
	probePause = 2 * time.Second // between two probes, each of which may take readyAttempt
	probeLimit = 3
)

// errFrozen means that a signal has stopped processes of the server (SIGSTOP). A new connection may be answered all the
// same, while others wait for ever: for a frozen backend, or for the locks that it holds.
var errFrozen = errors.New("some of its processes are stopped")

// awaitSilence returns when a server does not answer any more, with the reason, or when ctx ends.
func (c *Cluster) awaitSilence(ctx context.Context, server *server) error {
	for unanswered := 0; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(probePause):
		}
		err := c.probe(ctx, server)
		if err == nil {
			unanswered = 0
			continue
		}
		if unanswered++; unanswered == probeLimit {
			return err
		}
	}
}

func (c *Cluster) probe(ctx context.Context, server *server) error {
	if slices.ContainsFunc(procfs.Children(server.process.Pid), procfs.Stopped) {
		return errFrozen
	}
	if err := c.execute(ctx, "postgres", "select"); !isAnswer(err) {
		return err
	}
	return nil
}

// isAnswer reports whether the server has answered, be it with a refusal: it starts, or has too many clients.
func isAnswer(err error) bool {
	var refusal *pgconn.PgError
	return err == nil || errors.As(err, &refusal)
}

// end stops a server that does not answer, and kills it if that is because it hangs.
func (s *server) end(reason error) error {
	if pgconn.Timeout(reason) || errors.Is(reason, errFrozen) {
		return s.kill()
	}
	return s.stop()
}
