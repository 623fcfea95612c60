package feed

import (
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recital-tts/recital/domain"
)

var errUnanswered = domain.Refuse(domain.Unavailable, "The read models do not answer")

// Answered returns the error of an operation. It also refuses with domain.Unavailable when Postgres has not answered, or
// cannot do now what it may do later: what was asked for is not to blame.
func Answered(err error) error {
	if unanswered(err) {
		return errors.Join(err, errUnanswered)
	}
	return err
}

// A view that is not there is that of a read model whose first generation is still to be made.
func unanswered(err error) bool {
	if answer := rejected(err); answer != nil {
		return answer.Code == undefinedTable || transient(err)
	}
	return errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(net.Error)) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
