// Package readapi holds what its subpackages share. Each of them serves the routes of a slice that are pure queries
// of read models. They query the views read_v<n>.* with explicit column lists, so that generations can be swapped
// beneath them.
package readapi

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recital-tts/recital/domain"
)

var errUnavailable = domain.Refuse(domain.Unavailable, "The read models do not answer")

// QueryError wraps the error of a query with what was being done. Without an answer of the database, or when the database
// is about to stop or start, the client should try again: such an error refuses with domain.Unavailable.
func QueryError(ctx context.Context, doing string, err error) error {
	answer := new(pgconn.PgError)
	answered := errors.As(err, &answer) && !strings.HasPrefix(answer.Code, "57P") // operator intervention
	if answered || ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, errors.Join(err, errUnavailable))
}
