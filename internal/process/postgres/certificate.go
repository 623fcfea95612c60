package postgres

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// CertificateEnd returns when the server's certificate ends: the first one of its chain. It is zero for a connection
// without TLS.
func CertificateEnd(ctx context.Context, pool *pgxpool.Pool) (end time.Time, err error) {
	connection, err := pool.Acquire(ctx)
	if err != nil {
		return end, fmt.Errorf("connecting to Postgres: %w", err)
	}
	defer connection.Release()
	secured, is := connection.Conn().PgConn().Conn().(*tls.Conn)
	if !is {
		return end, nil
	}
	for _, one := range secured.ConnectionState().PeerCertificates {
		if end.IsZero() || one.NotAfter.Before(end) {
			end = one.NotAfter
		}
	}
	return end, nil
}
