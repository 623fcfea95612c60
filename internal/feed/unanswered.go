package feed

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Unanswered reports whether an error means that Postgres has not answered, or is about to stop or start: the same may
// succeed later, and what was asked for is not to blame.
func Unanswered(err error) bool {
	if answer := rejected(err); answer != nil {
		return strings.HasPrefix(answer.Code, "57P") // operator intervention
	}
	return errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(net.Error)) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
