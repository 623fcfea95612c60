package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A server that leaves probeLimit probes in a row unanswered is replaced: on a machine that is merely slow, one of
// them is answered. Connections that exist would not notice that the postmaster hangs, or that its socket is gone.
const (
	probePause = 2 * time.Second // between two probes, each of which may take readyAttempt
	probeLimit = 3
)

// awaitSilence returns when the server does not answer any more, with the reason, or when ctx ends.
func (c *Cluster) awaitSilence(ctx context.Context) error {
	for unanswered := 0; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(probePause):
		}
		err := c.execute(ctx, "postgres", "select")
		if isAnswer(err) {
			unanswered = 0
			continue
		}
		if unanswered++; unanswered == probeLimit {
			return err
		}
	}
}

// isAnswer reports whether the server has answered, be it with a refusal: it starts, or has too many clients.
func isAnswer(err error) bool {
	var refusal *pgconn.PgError
	return err == nil || errors.As(err, &refusal)
}

// end stops a server that does not answer, and kills it if that is because it hangs.
func (s *server) end(reason error) error {
	if pgconn.Timeout(reason) {
		return s.kill()
	}
	return s.stop()
}
